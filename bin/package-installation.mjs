/**
 * Installs the packages of package-lock.json with npm. Plain JavaScript without dependencies, as bin/setup.mjs.
 *
 * The lock file names no registry, so `npm ci` asks the registry for the address of each package before it downloads
 * it: half of the time of an installation (docs/decisions/127). Here npm reads a copy with the addresses under which
 * registries publish packages. The checksums are those of the lock file, so nothing else is installed from there. If
 * the registry has a package elsewhere, npm asks. An installation that was killed leaves the copy, and the next one
 * removes it.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** npm reads it instead of package-lock.json. */
const ADDRESSED = 'npm-shrinkwrap.json'

/** npm's errors if the registry has a package elsewhere, and if it does not accept the lock file. */
const UNUSABLE = /\bcode (E4\d\d|EINTEGRITY|EUSAGE)\b/

const NPM_OPTIONS = [
  '--no-audit',
  '--no-fund',
  '--no-progress',
  '--ignore-scripts',
  '--include=dev',
  '--include=optional',
  // npm's default timeouts (up to a minute per request) look like a hang without a network
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=10000',
]

/**
 * Installs into `node_modules` of the folder `root`.
 * @param env the environment of npm
 * @returns npm's exit code and everything that it printed
 */
export async function installPackages(root, env) {
  const first = await installAddressed(root, env)
  if (first !== null && !UNUSABLE.test(first.output)) return first
  const done = await npm(root, ['ci'], env)
  // `npm ci` refuses a lock file that lacks the packages of other platforms, as some registries produce it
  return done.code !== 0 && /\bMissing: .* from lock file/.test(done.output)
    ? npm(root, ['install', '--no-save'], env)
    : done
}

/** `npm ci` with the addresses of the packages. Null if the settings of npm cannot be read. */
async function installAddressed(root, env) {
  const copy = join(root, ADDRESSED)
  rmSync(copy, { force: true })
  const settings = parseSettings(await npm(root, ['config', 'list', '--json'], env))
  if (settings === null) return null
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  writeFileSync(copy, addAddresses(lock, settings))
  try {
    return await npm(root, ['ci'], env)
  } finally {
    rmSync(copy, { force: true })
  }
}

function parseSettings({ code, stdout }) {
  try {
    const settings = code === 0 ? JSON.parse(stdout) : null
    return typeof settings?.registry === 'string' ? settings : null
  } catch {
    return null
  }
}

/**
 * Adds the address of each package.
 * @param lock the text of package-lock.json
 * @param settings the settings of npm, by name
 */
export function addAddresses(lock, settings) {
  const { packages, ...rest } = JSON.parse(lock)
  const addressed = Object.entries(packages).map(([path, entry]) => [path, addAddress(path, entry, settings)])
  return JSON.stringify({ ...rest, packages: Object.fromEntries(addressed) })
}

function addAddress(path, entry, settings) {
  // the project itself, links, and packages in the archive of another one have no checksum
  if (entry.integrity === undefined || entry.inBundle === true || entry.resolved !== undefined) return entry
  const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const [scope, base = scope] = name.split('/')
  const registry = settings[`${scope}:registry`] ?? settings.registry
  return { ...entry, resolved: `${registry.replace(/\/$/, '')}/${name}/-/${base}-${entry.version}.tgz` }
}

/** Runs the npm that started this process, else the one on PATH. */
function npm(root, args, env) {
  const all = [...args, ...NPM_OPTIONS]
  const started = env['npm_execpath'] ?? ''
  return /npm-cli\.c?js$/.test(started) && existsSync(started)
    ? run(root, process.execPath, [started, ...all], env)
    : run(root, 'npm', all, env)
}

function run(root, program, args, env) {
  return new Promise((resolve) => {
    const printed = { stdout: '', output: '' }
    const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const name of ['stdout', 'stderr'])
      child[name].on('data', (chunk) => {
        printed.output += chunk
        if (name === 'stdout') printed.stdout += chunk
      })
    child.on('error', (error) =>
      resolve({ ...printed, code: 1, output: error.code === 'ENOENT' ? 'npm is missing' : String(error) }),
    )
    child.on('close', (code) => resolve({ ...printed, code }))
  })
}
