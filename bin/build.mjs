/**
 * Bundles the program into few files: `node bin/build.mjs`. Otherwise each role loads its modules one by one, which
 * takes most of the CPU of its start and 20 to 45 MB of memory. Prints the path of the program.
 *
 * The bundle is in `bundle/<digest>/`, named by a digest of all sources. It is current if it exists. It is written to
 * another folder and renamed when it is complete: an interrupted build leaves nothing that anyone uses, and of two at
 * the same time one wins. A build removes the bundles that no process uses (bin/supervisor/bundle-users.ts).
 *
 * The bundled code is not minified, but it is ASCII without comments: V8 holds the source of every loaded file, and one
 * character outside of Latin-1 doubles the size of its whole file (9 MB of the api). Paths that a module makes from its
 * own place (`import.meta`) are those of the source. A thread's module, `new URL('./name.ts', import.meta.url)`, is in
 * the bundle too. Other commands and migrations are loaded from their sources.
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { removeUnusedBundles } from '#bin/supervisor/bundle-users.ts'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const OUT = join(ROOT, 'bundle')
const SOURCES = [
  '{api,bin,clients,config,mta,src,worker}/**/*.ts',
  'bin/build.mjs',
  'package.json',
  'package-lock.json',
]
const NOT_BUNDLED = /\.test(-data)?\.ts$/
/** Commands in the bundle; the others are loaded from their sources. */
export const ROLES = ['api', 'mta', 'worker', 'compile']
/** From the folder of a bundle. */
const TO_ROOT = '../../'

/**
 * @param out the folder, which must not exist; by default one that is named by the digest of the sources
 * @returns the path of the program, and whether it was built now. @throws if the build fails
 */
export async function buildProgram(out = join(OUT, digestSources())) {
  const program = join(out, 'mailstead.js')
  if (existsSync(program)) return { program, isNew: false }
  const { rolldown } = await import('rolldown')
  mkdirSync(dirname(out), { recursive: true })
  // as deep as the result: the paths in the bundle are relative
  const work = mkdtempSync(join(dirname(out), '.build-'))
  try {
    const bundle = await rolldown({
      input: { mailstead: 'bin/mailstead.ts' },
      cwd: ROOT,
      platform: 'node',
      logLevel: 'silent',
      plugins: [placesOfSources(), importsByName(), stringsWithoutSubclass()],
    })
    await bundle.write({
      dir: work,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      sourcemap: true,
      charset: 'ascii',
      comments: false,
    })
    await bundle.close()
    chmodSync(work, 0o755) // a role may run as another user
    rename(work, out)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  removeUnusedBundles(dirname(out), out)
  return { program, isNew: true }
}

/**
 * Gives each module the paths that it has as a source, and bundles the modules of threads. A module without `import`
 * may not contain `import.meta`, so each file of the bundle begins with the path of the root.
 */
function placesOfSources() {
  const threads = new Set()
  return {
    name: 'places-of-sources',
    banner: `const PROGRAM_ROOT = new URL(${JSON.stringify(TO_ROOT)}, import.meta.url)`,
    transform: {
      filter: { id: /\.[cm]?[jt]s$/, code: /import\.meta|\b__(?:dir|file)name\b/ },
      handler(code, id) {
        const file = relative(ROOT, id)
        const url = (path) => `new URL(PROGRAM_ROOT.href + ${JSON.stringify(path)})`
        // the folder of an installation may contain spaces
        const path = (name) => `(decodeURIComponent(PROGRAM_ROOT.pathname) + ${JSON.stringify(name)})`
        const thread = (_, name) => {
          const source = join(dirname(id), `${name}.ts`)
          const fileName = `${relative(ROOT, dirname(source)).replaceAll('/', '-')}-${name}.js`
          if (!threads.has(fileName)) this.emitFile({ type: 'chunk', id: source, fileName })
          threads.add(fileName)
          return `new URL('./${fileName}', PROGRAM_URL)`
        }
        return code
          .replaceAll(/new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g, thread)
          .replaceAll('import.meta.dirname', path(dirname(file)))
          .replaceAll('import.meta.url', `${url(file)}.href`)
          .replaceAll(/\b__dirname\b/g, path(dirname(file)))
          .replaceAll(/\b__filename\b/g, path(file))
          .replaceAll('PROGRAM_URL', 'import.meta.url')
      },
    },
  }
}

/** Bundles the modules of ROLES and of `compile`, which are imported by names that a bundler cannot follow. */
function importsByName() {
  const rows = ROLES.map((name) => `${name}: () => import('./commands/${name}.ts')`)
  const source = 'import(`${PROGRAM_ROOT.href}bin/commands/${name}.ts`)'
  const changes = [
    [/\/bin\/mailstead\.ts$/, 'import(`./commands/${name}.ts`)', `(ROLES[name]?.() ?? ${source})`],
    [/\/bin\/commands\/compile\.ts$/, 'import(part)', 'part()'],
  ]
  return {
    name: 'imports-by-name',
    transform: {
      filter: { id: changes.map(([id]) => id) },
      handler(code, id) {
        const [, from, to] = changes.find(([file]) => file.test(id)) ?? []
        if (!code.includes(from)) throw new Error(`${id} does not contain ${from}`)
        const changed = code.replace(from, to).replaceAll(/^ {2}('[^']+\.ts'),$/gm, '  () => import($1),')
        return `const ROLES = { ${rows.join(', ')} };${changed}`
      },
    },
  }
}

/**
 * As soon as an object inherits from `String.prototype`, V8 stops optimising properties of strings (`length`,
 * `charCodeAt`) in the whole process, and string code takes more than twice as long. ioredis has such a class, for a
 * type of reply that Mailstead does not ask for.
 */
function stringsWithoutSubclass() {
  const [from, to] = ['class VerbatimString extends String', 'class VerbatimString extends Object']
  return {
    name: 'strings-without-subclass',
    transform: {
      filter: { id: /\.[cm]?[jt]s$/, code: /\bextends String\b/ },
      handler(code, id) {
        if (!code.includes(from)) throw new Error(`${id} has a subclass of String, which makes all string code slow`)
        return code.replace(from, to)
      },
    },
  }
}

function digestSources() {
  const hash = createHash('sha256')
  for (const file of globSync(SOURCES, { cwd: ROOT })
    .filter((name) => !NOT_BUNDLED.test(name))
    .toSorted())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0')
  return hash.digest('hex').slice(0, 16)
}

/** The same build that finished first, perhaps, which then stays. */
function rename(work, out) {
  try {
    renameSync(work, out)
  } catch (error) {
    if (!existsSync(out)) throw error
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  try {
    process.stdout.write(`${(await buildProgram(process.argv[2])).program}\n`)
  } catch (error) {
    process.stderr.write(`${error.code ?? error.name}: ${error.message}\n`)
    process.exitCode = 1
  }
