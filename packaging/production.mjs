/**
 * Makes the tree that every package contains: the program, its production dependencies and its own Node. Usage:
 * `node packaging/production.mjs FOLDER`. The folder must not exist, and npm must be on PATH. Nothing in the tree needs
 * npm, a compiler or the network: bin/mailstead uses `runtime/node` of such a tree and does no setup.
 *
 * Versions and checksums are those of package-lock.json; a download that does not match them ends the build. The
 * embedded PostgreSQL, tools, tests and type declarations are left out, and packages that only the roles load: their
 * bundle contains the code. Licences stay. The dashboard is built here if dashboard/dist is not current. Every command
 * and migration is loaded once. The last line reports the sizes; dependencies of 150 MB or more are an error.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const PROGRAM = ['api', 'bin', 'clients', 'config', 'docs', 'migrations', 'mta', 'packaging', 'src', 'worker']
/** Folders of which packages contain `dist` only: static files that `build.mjs` there makes. */
const BUILT = ['dashboard']
const FILES = ['package.json', 'package-lock.json', '.npmrc', 'LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md']
/** Files of the program that only developers use. */
const NOT_PROGRAM = /\.test(-data)?\.ts$|^bin\/(setup|build)\.mjs$|^bin\/commands\/(test|bench|check)\.ts$/
/** Commands that run from the bundle. */
const ROLE = /^bin\/commands\/(?:api|mta|worker|compile)\.ts$/
/** Files of dependencies that Node never loads. */
export const NOT_LOADED = /\.(map|md|markdown|flow|d\.ts|d\.mts|d\.cts|tsbuildinfo)$/i
export const LICENCE = /licen[cs]e|notice|copying/i
export const MAX_MODULES_MB = 150

function main([folder]) {
  if (folder === undefined) throw new Error('usage: node packaging/production.mjs FOLDER')
  const out = resolve(folder)
  if (existsSync(out)) throw new Error(`${out} exists`)
  mkdirSync(out, { recursive: true })
  copyProgram(out)
  installModules(out)
  addRuntime(out)
  for (const name of BUILT) addBuilt(out, name)
  addBundle(out)
  prune(join(out, 'node_modules'), JSON.parse(build(out, 'packaging/source-packages.mjs')))
  checkCommands(out)
  const modules = megabytes(join(out, 'node_modules'))
  process.stdout.write(
    `node_modules ${modules} MB, Node ${megabytes(join(out, 'runtime'))} MB, all ${megabytes(out)} MB\n`,
  )
  if (modules >= MAX_MODULES_MB) throw new Error(`node_modules must be smaller than ${MAX_MODULES_MB} MB`)
}

function copyProgram(out) {
  for (const name of [...PROGRAM, ...FILES])
    cpSync(join(ROOT, name), join(out, name), {
      recursive: true,
      filter: (path) => !NOT_PROGRAM.test(path.slice(ROOT.length + 1)),
    })
}

const NPM_OPTIONS = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-progress']

function installModules(out) {
  const lock = readFileSync(join(out, 'package-lock.json'), 'utf8')
  install(out, ['--omit=dev', '--omit=optional'])
  if (readFileSync(join(out, 'package-lock.json'), 'utf8') !== lock) throw new Error('npm changed package-lock.json')
}

/** `npm ci` refuses a lock file that lacks the packages of other platforms; `npm install` uses the same versions. */
function install(cwd, omitted) {
  try {
    npm(cwd, ['ci', ...omitted, ...NPM_OPTIONS])
  } catch (error) {
    if (!/Missing: .* from lock file/.test(String(error.stderr))) throw error
    npm(cwd, ['install', '--no-save', ...omitted, ...NPM_OPTIONS])
  }
}

function npm(cwd, args) {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1e8 })
}

/** What is current is not built again: the build of an image needs no development dependencies then. */
function addBuilt(out, name) {
  build(out, join(name, 'build.mjs'))
  cpSync(join(ROOT, name, 'dist'), join(out, name, 'dist'), { recursive: true })
}

/** The roles as few files, without the maps to their sources. */
function addBundle(out) {
  const folder = join(out, 'bundle/program')
  build(out, 'bin/build.mjs', folder)
  for (const file of listFiles(folder)) if (file.endsWith('.map')) rmSync(file)
}

/** With the Node of the package. @returns what the script printed */
function build(out, script, ...args) {
  const run = () => runNode(out, [join(ROOT, script), ...args])
  try {
    return run()
  } catch (error) {
    if (existsSync(join(ROOT, 'node_modules')) || !/ERR_MODULE_NOT_FOUND/.test(String(error.stderr))) throw error
    install(ROOT, [])
    addBuildTools()
    return run()
  }
}

function runNode(out, args) {
  return execFileSync(join(out, 'runtime/node'), args, {
    cwd: out,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1e8,
  })
}

/** Keeps what Node loads from these packages, and the licences of all. */
function prune(modules, loaded) {
  const isKept = (file) => {
    const [scope, name] = file.slice(modules.length + 1).split('/')
    const isLoaded = loaded.includes(scope.startsWith('@') ? `${scope}/${name}` : scope)
    return LICENCE.test(file) || (isLoaded && !NOT_LOADED.test(file))
  }
  for (const file of listFiles(modules)) if (!isKept(file)) rmSync(file)
  removeEmptyFolders(modules)
}

function removeEmptyFolders(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name))
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}

/** A package that is missing fails here, and not on the machine of an operator. */
function checkCommands(out) {
  const files = ['bin/commands', 'migrations']
    .flatMap((folder) => readdirSync(join(out, folder)).map((name) => `${folder}/${name}`))
    .filter((file) => file.endsWith('.ts') && !ROLE.test(file))
    .map((file) => pathToFileURL(join(out, file)).href)
  const program = `for (const file of ${JSON.stringify(files)}) await import(file); process.exit()`
  runNode(out, ['--input-type=module', '--eval', program])
}

/** npm leaves out the binaries of build tools that need a newer Node than the one it runs with. */
function addBuildTools() {
  const { packages } = readJson(join(ROOT, 'package-lock.json'))
  const isForHere = ({ dev, optional, os = [], cpu = [], libc = ['glibc'] }) =>
    dev && optional && os.includes('linux') && cpu.includes(process.arch) && libc.includes('glibc')
  for (const [path, locked] of Object.entries(packages)) {
    const folder = join(ROOT, path)
    if (!isForHere(locked) || existsSync(folder)) continue
    withPackage(path.slice('node_modules/'.length), (unpacked) => cpSync(unpacked, folder, { recursive: true }))
  }
}

/** Node from its npm package. */
function addRuntime(out) {
  withPackage(`node-linux-${process.arch}`, (unpacked) => {
    mkdirSync(join(out, 'runtime'))
    cpSync(join(unpacked, 'bin/node'), join(out, 'runtime/node'))
    for (const file of readdirSync(unpacked).filter((one) => LICENCE.test(one)))
      cpSync(join(unpacked, file), join(out, 'runtime', file))
  })
}

/** Downloads a package, checks it against the lock file, and unpacks it for `use`. */
function withPackage(name, use) {
  const { version, integrity } = readJson(join(ROOT, 'package-lock.json')).packages[`node_modules/${name}`]
  const work = mkdtempSync(join(tmpdir(), 'mailstead-package-'))
  try {
    npm(work, ['pack', '--silent', `${name}@${version}`])
    const [archive] = readdirSync(work)
    const sum = createHash('sha512')
      .update(readFileSync(join(work, archive)))
      .digest('base64')
    if (integrity !== `sha512-${sum}`) throw new Error(`the checksum of ${archive} is not that of package-lock.json`)
    execFileSync('tar', ['-xzf', archive], { cwd: work })
    use(join(work, 'package'))
  } finally {
    rmSync(work, { recursive: true })
  }
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function listFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? listFiles(path) : [path]
  })
}

/** As `du` counts: whole blocks. */
function megabytes(folder) {
  const blocks = listFiles(folder).reduce((sum, file) => sum + lstatSync(file).blocks, 0)
  return Math.ceil((blocks * 512) / 1_048_576)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  try {
    main(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`packaging: ${error.message}\n${error.stderr ?? ''}`)
    process.exitCode = 1
  }
