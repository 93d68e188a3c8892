/**
 * Builds `dashboard/dist`, unless the sources have not changed since the last build: `node dashboard/build.mjs`. It
 * also writes each text file compressed (brotli and gzip), because the api sends the files as they are. Vite writes to
 * a folder of its own, which replaces the old one when it is complete: a build that is interrupted changes nothing,
 * and of two at the same time the last one wins. A tree without Vite (a package) contains the built files already.
 *
 * `packages.json` lists the packages whose code is in the files, by their path in package-lock.json, for the components
 * of a release; `licences.txt` has their licences, which must accompany the code, and that of the icons.
 */
import { createHash } from 'node:crypto'
import { chmodSync, globSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const OUT = join(FOLDER, 'dist')
const STAMP = 'sources.txt'
const SOURCES = [
  'index.html',
  'vite.config.ts',
  'build.mjs',
  'public/**/*',
  'src/**/*.{ts,tsx,css}',
  '../package-lock.json',
]
/** Compressing less than this saves nothing. */
const MIN_BYTES = 600

/** @returns whether it built; false if the files were current. @throws if the build fails. */
export async function buildDashboard() {
  const digest = digestSources()
  if (readStamp() === digest) return false
  const { build } = await import('vite')
  const out = mkdtempSync(join(FOLDER, '.dist-'))
  try {
    const { output } = await build({
      configFile: join(FOLDER, 'vite.config.ts'),
      logLevel: 'error',
      build: { outDir: out },
    })
    writePackages(out, output)
    compressFiles(out)
    writeFileSync(join(out, STAMP), digest)
    chmodSync(out, 0o755) // the api may run as another user
    replaceFolder(out)
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
  return true
}

function writePackages(out, output) {
  const ids = output.flatMap((chunk) => chunk.moduleIds ?? [])
  // the styles are made by Tailwind, and begin with its own
  const packages = new Set(['node_modules/tailwindcss'])
  for (const id of ids) {
    const [path] = /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(id) ?? []
    if (path !== undefined) packages.add(path)
  }
  const paths = [...packages].toSorted()
  writeFileSync(join(out, 'packages.json'), `${JSON.stringify(paths, null, 2)}\n`)
  writeFileSync(join(out, 'licences.txt'), [...paths.map(readLicence), iconLicence()].join('\n'))
}

function readLicence(path) {
  const folder = join(FOLDER, '..', path)
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const texts = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
  const text = texts.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n')
  return formatLicence(`${name} ${version} (${license})`, text)
}

/** The icons are in the sources (generate-icons.ts). */
function iconLicence() {
  return formatLicence('Lucide (ISC)', readFileSync(join(FOLDER, 'src/ui/icons-licence.txt'), 'utf8').trim())
}

function formatLicence(title, text) {
  return `${title}\n\n${text}\n\n${'-'.repeat(80)}\n`
}

function digestSources() {
  const hash = createHash('sha256')
  for (const file of globSync(SOURCES, { cwd: FOLDER, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted())
    hash
      .update(`${file.slice(FOLDER.length)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

function readStamp() {
  try {
    return readFileSync(join(OUT, STAMP), 'utf8')
  } catch {
    return null
  }
}

function compressFiles(folder) {
  for (const name of globSync('**/*.{js,css,svg,html}', { cwd: folder })) {
    const file = join(folder, name)
    const bytes = readFileSync(file)
    if (bytes.length < MIN_BYTES) continue
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: quality }))
  }
}

/** An api that serves the old files meanwhile answers 404 for some, and its page then loads again. */
function replaceFolder(out) {
  const old = `${out}-old`
  try {
    renameSync(OUT, old)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  renameSync(out, OUT)
  rmSync(old, { recursive: true, force: true })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write((await buildDashboard()) ? 'built dashboard/dist\n' : 'dashboard/dist is current\n')
