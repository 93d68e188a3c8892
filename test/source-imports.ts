/**
 * The imports between this project's files, read from their text: `import` and `export ... from`, `import()`, and
 * `new URL('./x.ts', import.meta.url)`, which is how a thread names its file. A path with a `${...}` part counts as an
 * import of every file that it can name. Packages are left out.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

const SOURCE_FILES =
  '{src,mta,api,worker,config,migrations,bin,bench,clients,dashboard,docs,packaging,test}/**/*.{ts,tsx,mjs}'
/** The generated client, and what a measured program brings along. */
const NOT_OURS = [
  '**/node_modules/**',
  'bundle/**',
  'dashboard/dist/**',
  'dashboard/.dist-*/**',
  'bench/out/**',
  'bench/haraka/**',
]
const IMPORT = /\b(?:from|import|new URL)\s*\(?\s*(?:'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`)/g

/** All source files, as sorted paths from the root of the project. */
export function listSourceFiles(): string[] {
  return globSync(SOURCE_FILES, { cwd: ROOT, exclude: NOT_OURS }).toSorted()
}

/** True for a test, and for the data that only tests read. */
export function isTestFile(file: string): boolean {
  return /\.(?:test|test-data)\.tsx?$/.test(file)
}

/** The project's files that `file` imports, as paths from the root. The compiler reports paths that name no file. */
export function listImports(file: string): string[] {
  const targets = new Set<string>()
  for (const [, single, double, template] of readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)) {
    const path = locate(file, single ?? double ?? template ?? '')
    if (path !== null) for (const target of expand(path)) targets.add(target)
  }
  return [...targets]
}

/** `files` and all that they import, directly or through others. */
export function listReachable(files: readonly string[]): Set<string> {
  const reached = new Set(files)
  for (const file of reached) for (const target of listImports(file)) reached.add(target)
  return reached
}

/** From the root of the project; null for a package. */
function locate(file: string, specifier: string): string | null {
  if (specifier.startsWith('#')) return specifier.slice(1)
  return /^\.{1,2}\//.test(specifier) ? posix.join(dirname(file), specifier) : null
}

function expand(path: string): string[] {
  if (path.includes('${')) return globSync(path.replaceAll(/\$\{[^}]*\}/g, '*'), { cwd: ROOT }).filter(isSource)
  return isSource(path) && existsSync(join(ROOT, path)) ? [path] : []
}

function isSource(path: string): boolean {
  return /\.(?:tsx?|mjs)$/.test(path)
}
