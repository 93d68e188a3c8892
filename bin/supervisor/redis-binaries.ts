/**
 * Finds a Redis (or Valkey) server that the store account can run: the one on
 * PATH, else Debian's own package, downloaded by apt and unpacked without
 * installing anything (works as any user) into node_modules/.cache/mailstead,
 * together with the libraries that this machine lacks. On other systems the
 * message names the command that installs it.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { environment, listPathFolders } from '#config/environment.ts'
import { type Account, identity } from './account.ts'
import { SYSTEM_DIR } from './data-directory.ts'
import { type Say, Trouble } from './user-error.ts'

export interface RedisBinary {
  readonly file: string
  /** LD_LIBRARY_PATH of an unpacked package; empty for an installed server. */
  readonly libraries: string
}

const NAMES = ['redis-server', 'valkey-server'] as const
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/mailstead')
const OLDEST = [6, 2] as const
const INSTALL: readonly (readonly [program: string, command: string])[] = [
  ['apt-get', 'apt-get install redis-server'],
  ['dnf', 'dnf install valkey   (or: redis)'],
  ['apk', 'apk add redis'],
  ['pacman', 'pacman -S valkey'],
  ['zypper', 'zypper install redis'],
  ['brew', 'brew install redis'],
]

/** The server to use, fetched when there is none. Throws Trouble when there is no way to get one. */
export function findRedis(account: Account | null, say: Say): RedisBinary {
  const found = installed(account) ?? unpacked(account)
  if (found !== null) return found
  const failure = onPath('apt-get') && onPath('dpkg') ? fetch(say) : 'this system has no apt-get'
  const fetched = failure === null ? unpacked(account) : null
  if (fetched !== null) return fetched
  const command = INSTALL.find(([program]) => onPath(program))?.[1]
  const reason = failure ?? 'the unpacked server does not run'
  throw new Trouble(
    `Redis ${OLDEST.join('.')} or newer (or Valkey) is missing and could not be fetched: ${reason}.\n` +
      `Set REDIS_URL to a Redis of yours, or install it${command === undefined ? '' : `: ${command}`}`,
  )
}

function installed(account: Account | null): RedisBinary | null {
  for (const dir of [...listPathFolders(), '/usr/bin', '/usr/local/bin', '/usr/sbin']) {
    for (const name of NAMES) {
      const binary = { file: join(dir, name), libraries: '' }
      if (runs(binary, account)) return binary
    }
  }
  return null
}

/** The unpacked package, or its copy where the account cannot enter the checkout. */
function unpacked(account: Account | null): RedisBinary | null {
  const root = join(CACHE, 'redis')
  const here = binaryIn(root)
  if (here === null || runs(here, account)) return here
  if (account === null) return null
  const copy = join(SYSTEM_DIR, 'redis')
  const there = binaryIn(copy)
  if (there !== null && runs(there, account)) return there
  const half = `${copy}.${process.pid}`
  mkdirSync(SYSTEM_DIR, { recursive: true })
  chmodSync(SYSTEM_DIR, 0o755)
  cpSync(root, half, { recursive: true, verbatimSymlinks: true })
  rmSync(copy, { recursive: true, force: true })
  renameSync(half, copy)
  const copied = binaryIn(copy)
  return copied !== null && runs(copied, account) ? copied : null
}

function binaryIn(root: string): RedisBinary | null {
  const file = NAMES.map((name) => join(root, 'usr/bin', name)).find((path) => existsSync(path))
  if (file === undefined) return null
  return { file, libraries: globSync(join(root, '{usr/lib,lib}/*-linux-*')).join(':') }
}

/** True when the account can run it and it is new enough. */
function runs({ file, libraries }: RedisBinary, account: Account | null): boolean {
  if (!existsSync(file)) return false
  const run = spawnSync(file, ['--version'], {
    ...identity(account),
    cwd: '/',
    encoding: 'utf8',
    env: { LD_LIBRARY_PATH: libraries },
  })
  const version = /v=(\d+)\.(\d+)/.exec(run.stdout ?? '')
  if (version === null) return false
  const [major, minor] = [Number(version[1]), Number(version[2])]
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/** Downloads and unpacks the package and what it needs; null, or why that failed. */
function fetch(say: Say): string | null {
  say(
    'Redis is not installed: fetching the package of this system (nothing is installed, it is kept in node_modules/.cache).',
  )
  const work = join(CACHE, `fetch.${process.pid}`)
  try {
    mkdirSync(join(work, 'lists/partial'), { recursive: true })
    mkdirSync(join(work, 'cache/archives/partial'), { recursive: true })
    const own = [
      '-o',
      `Dir::State::lists=${work}/lists`,
      '-o',
      `Dir::Cache=${work}/cache`,
      '-o',
      'APT::Sandbox::User=root',
    ]
    if (download(work, []) === null) return unpack(work)
    // One source of many that fails is no reason to give up, but it explains why nothing was found.
    const stale = refresh(work, own)
    const failure = download(work, own)
    return failure === null ? unpack(work) : (stale ?? failure)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Fetches fresh package lists for our own use: the system's are missing or name versions that are gone. */
function refresh(work: string, own: readonly string[]): string | null {
  return complaint('apt-get', [...own, '-o', 'APT::Update::Error-Mode=any', 'update'], work)
}

/** Null, or why the first of the servers, which every Debian has had, could not be had. */
function download(work: string, options: readonly string[]): string | null {
  let failure: string | null = null
  for (const name of NAMES) {
    // A dry run of the install, which any user may do, names exactly the packages that this machine lacks.
    const plan = spawnSync('apt-get', [...options, '-s', '--no-install-recommends', 'install', name], {
      encoding: 'utf8',
    })
    const packages = [...(plan.stdout ?? '').matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? '')
    if (!packages.includes(name)) {
      failure ??= plan.status === 0 ? `the ${name} of this system is too old` : `apt-get: ${firstError(plan.stderr)}`
      continue
    }
    // The server is a link to a program of its tools package, which may be installed, and yet cannot be reached by that link.
    const wanted = new Set([...packages, name.replace('-server', '-tools')])
    const failed = complaint('apt-get', [...options, 'download', ...wanted], work)
    if (failed === null) return null
    failure ??= failed
  }
  return failure
}

function unpack(work: string): string | null {
  for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
    const failed = complaint('dpkg', ['-x', file, 'root'], work)
    if (failed !== null) return failed
  }
  rmSync(join(CACHE, 'redis'), { recursive: true, force: true })
  renameSync(join(work, 'root'), join(CACHE, 'redis'))
  return null
}

/** Runs a program; null, or the first line of what it complained about. */
function complaint(program: string, args: readonly string[], cwd: string): string | null {
  const done = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...environment, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
  })
  return done.status === 0 ? null : `${program}: ${done.error?.message ?? firstError(done.stderr)}`
}

function firstError(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '')
  return lines.find((line) => line.startsWith('E:')) ?? lines[0] ?? 'failed without a word'
}

function onPath(program: string): boolean {
  return listPathFolders().some((dir) => existsSync(join(dir, program)))
}
