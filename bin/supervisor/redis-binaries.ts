/**
 * Finds a Redis or Valkey server that the stores' user can run: one on PATH, else the Debian package. That is
 * downloaded with apt and unpacked into node_modules/.cache/mailstead, with the libraries that the machine lacks.
 * Nothing is installed, so this works as any user. On other systems the error names the command that installs Redis.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { environment, listPathFolders } from '#config/environment.ts'
import { type SystemAccount, spawnIdentity } from './account.ts'
import { SYSTEM_DIR } from './data-directory.ts'
import { type PrintLine, UserError } from './user-error.ts'

export interface RedisBinary {
  readonly file: string
  /** LD_LIBRARY_PATH of the unpacked package; empty for an installed server. */
  readonly libraries: string
}

const SERVER_NAMES = ['redis-server', 'valkey-server'] as const
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/mailstead')
const MIN_VERSION = [6, 2] as const
const INSTALL_COMMANDS: readonly (readonly [program: string, command: string])[] = [
  ['apt-get', 'apt-get install redis-server'],
  ['dnf', 'dnf install valkey   (or: redis)'],
  ['apk', 'apk add redis'],
  ['pacman', 'pacman -S valkey'],
  ['zypper', 'zypper install redis'],
  ['brew', 'brew install redis'],
]

/** What was found, by user id: checking a server runs it. */
const foundByUser = new Map<number | null, RedisBinary>()

/** The server to use; downloads it if none is installed. @throws UserError if that fails. */
export function findRedis(account: SystemAccount | null, say: PrintLine): RedisBinary {
  const user = account?.uid ?? null
  const known = foundByUser.get(user)
  if (known !== undefined && existsSync(known.file)) return known
  const found = findInstalled(account) ?? findUnpacked(account) ?? fetchServer(account, say)
  foundByUser.set(user, found)
  return found
}

/** Downloads the server. @throws UserError if that fails. */
function fetchServer(account: SystemAccount | null, say: PrintLine): RedisBinary {
  const failure = onPath('apt-get') && onPath('dpkg') ? fetchPackage(say) : 'this system has no apt-get'
  const fetched = failure === null ? findUnpacked(account) : null
  if (fetched !== null) return fetched
  const command = INSTALL_COMMANDS.find(([program]) => onPath(program))?.[1]
  const reason = failure ?? 'the unpacked server does not run'
  throw new UserError(
    `Redis ${MIN_VERSION.join('.')} or newer (or Valkey) is not installed, and the download failed: ${reason}.\n`,
    `Set REDIS_URL to your own Redis, or install it${command === undefined ? '' : `: ${command}`}`,
  )
}

function findInstalled(account: SystemAccount | null): RedisBinary | null {
  for (const dir of [...listPathFolders(), '/usr/bin', '/usr/local/bin', '/usr/sbin']) {
    for (const name of SERVER_NAMES) {
      const binary = { file: join(dir, name), libraries: '' }
      if (runs(binary, account)) return binary
    }
  }
  return null
}

/** The unpacked package, or a copy of it if the account cannot enter the checkout. */
function findUnpacked(account: SystemAccount | null): RedisBinary | null {
  const root = join(CACHE, 'redis')
  const original = binaryIn(root)
  if (original === null || runs(original, account)) return original
  if (account === null) return null
  const copy = join(SYSTEM_DIR, 'redis')
  const existing = binaryIn(copy)
  if (existing !== null && runs(existing, account)) return existing
  const partial = `${copy}.${process.pid}`
  mkdirSync(SYSTEM_DIR, { recursive: true })
  chmodSync(SYSTEM_DIR, 0o755)
  cpSync(root, partial, { recursive: true, verbatimSymlinks: true })
  rmSync(copy, { recursive: true, force: true })
  renameSync(partial, copy)
  const copied = binaryIn(copy)
  return copied !== null && runs(copied, account) ? copied : null
}

function binaryIn(root: string): RedisBinary | null {
  const file = SERVER_NAMES.map((name) => join(root, 'usr/bin', name)).find((path) => existsSync(path))
  if (file === undefined) return null
  return { file, libraries: globSync(join(root, '{usr/lib,lib}/*-linux-*')).join(':') }
}

/** Whether the account can run it and its version is supported. */
function runs({ file, libraries }: RedisBinary, account: SystemAccount | null): boolean {
  if (!existsSync(file)) return false
  const run = spawnSync(file, ['--version'], {
    ...spawnIdentity(account),
    cwd: '/',
    encoding: 'utf8',
    env: { LD_LIBRARY_PATH: libraries },
  })
  const version = /v=(\d+)\.(\d+)/.exec(run.stdout ?? '')
  if (version === null) return false
  const [major, minor] = [Number(version[1]), Number(version[2])]
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1])
}

/** Downloads and unpacks the package with its dependencies. Returns null, or why that failed. */
function fetchPackage(say: PrintLine): string | null {
  say("Redis is not installed: downloading this system's package to node_modules/.cache (nothing is installed).")
  const work = join(CACHE, `fetch.${process.pid}`)
  try {
    mkdirSync(join(work, 'lists/partial'), { recursive: true })
    mkdirSync(join(work, 'cache/archives/partial'), { recursive: true })
    const options = [
      '-o',
      `Dir::State::lists=${work}/lists`,
      '-o',
      `Dir::Cache=${work}/cache`,
      '-o',
      'APT::Sandbox::User=root',
    ]
    if (download(work, []) === null) return unpack(work)
    // a package source that fails is not fatal, but explains why a package is not found
    const stale = updatePackageLists(work, options)
    const failure = download(work, options)
    return failure === null ? unpack(work) : (stale ?? failure)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Downloads package lists, since those of the system are missing or name versions that no longer exist. */
function updatePackageLists(work: string, options: readonly string[]): string | null {
  return runForError('apt-get', [...options, '-o', 'APT::Update::Error-Mode=any', 'update'], work)
}

/** Downloads the first available server. Returns null, or why the first one, which every Debian has, is unavailable. */
function download(work: string, options: readonly string[]): string | null {
  let failure: string | null = null
  for (const name of SERVER_NAMES) {
    // a simulated install, which any user may run, lists exactly the packages that this machine lacks
    const plan = spawnSync('apt-get', [...options, '-s', '--no-install-recommends', 'install', name], {
      encoding: 'utf8',
    })
    const packages = [...(plan.stdout ?? '').matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? '')
    if (!packages.includes(name)) {
      failure ??= plan.status === 0 ? `the ${name} of this system is too old` : `apt-get: ${firstError(plan.stderr)}`
      continue
    }
    // the server is a link to a program of its tools package, so that is needed here even if it is installed
    const names = new Set([...packages, name.replace('-server', '-tools')])
    const failed = runForError('apt-get', [...options, 'download', ...names], work)
    if (failed === null) return null
    failure ??= failed
  }
  return failure
}

function unpack(work: string): string | null {
  for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
    const failed = runForError('dpkg', ['-x', file, 'root'], work)
    if (failed !== null) return failed
  }
  rmSync(join(CACHE, 'redis'), { recursive: true, force: true })
  renameSync(join(work, 'root'), join(CACHE, 'redis'))
  return null
}

/** Runs a program. Returns null, or the first line of its error output. */
function runForError(program: string, args: readonly string[], cwd: string): string | null {
  const done = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...environment, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
  })
  return done.status === 0 ? null : `${program}: ${done.error?.message ?? firstError(done.stderr)}`
}

function firstError(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '')
  return lines.find((line) => line.startsWith('E:')) ?? lines[0] ?? 'failed without an error message'
}

function onPath(program: string): boolean {
  return listPathFolders().some((dir) => existsSync(join(dir, program)))
}
