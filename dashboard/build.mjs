/**
 * Builds `dashboard/dist`, unless the sources have not changed since the last build: `node dashboard/build.mjs`. It also
 * writes each text file compressed (brotli and gzip), because the api sends the files as they are. Vite writes to a
 * folder of its own, which replaces the old one when it is complete: a build that is interrupted changes nothing, and
 * of two at the same time the last one wins. A tree without Vite (a package) contains the built files already.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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
    await build({ configFile: join(FOLDER, 'vite.config.ts'), logLevel: 'error', build: { outDir: out } })
    compressFiles(out)
    writeFileSync(join(out, STAMP), digest)
    replaceFolder(out)
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
  return true
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
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
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
