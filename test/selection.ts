/**
 * Which test files a run consists of, and whether they need PostgreSQL. A path that names no test is an error: a run
 * must not pass because of a typing mistake.
 */
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { listReachable, ROOT } from './source-imports.ts'

/** The test files of the project. */
const ALL = '{src,mta,api,worker,config,migrations,bin,bench,test,clients,dashboard,docs,packaging}/**/*.test.ts'
const EXCLUDE = ['**/node_modules/**']
/** A test that starts PostgreSQL or Redis reaches this file. */
const STORES = 'test/support/stores.ts'
/** Options of mocha that are followed by a value. */
const WITH_VALUE = /^(?:--(?:grep|fgrep|timeout|retries|jobs|slow|reporter|reporter-option|require)|-[gftjsRr])$/

export interface Selection {
  /** Paths from the root of the project. */
  readonly files: readonly string[]
  /** For mocha, as they were given. */
  readonly options: readonly string[]
  /** True when the run is the whole suite. */
  readonly isWhole: boolean
  readonly needsStores: boolean
}

/**
 * Reads the arguments of `npm test`: test files, folders and globs, and options of mocha.
 * @returns the selection, or an error message when a path names no test
 */
export function selectTests(args: readonly string[]): Selection | string {
  const paths: string[] = []
  const options: string[] = []
  args.forEach((arg, i) => {
    const isOption = arg.startsWith('-') || WITH_VALUE.test(args[i - 1] ?? '')
    ;(isOption ? options : paths).push(arg)
  })
  const found = paths.map((path) => ({ path, files: findTests(path) }))
  const missing = found.filter(({ files }) => files.length === 0).map(({ path }) => path)
  if (missing.length > 0) return `no test at ${missing.join(', ')}. Name a test file, a folder or a glob.`
  const named = [...new Set(found.flatMap(({ files }) => files))]
  const isWhole = named.length === 0
  const files = isWhole ? spread(glob(ALL)) : named
  return { files, options, isWhole, needsStores: isWhole || listReachable(files).has(STORES) }
}

/** The test files that a path names: itself, those below a folder, or those that match a glob. */
function findTests(path: string): string[] {
  const below = path.replace(/^\.\//, '').replace(/\/$/, '')
  if (/[*?{]/.test(path)) return glob(below).filter((file) => file.endsWith('.test.ts'))
  if (!existsSync(join(ROOT, below))) return []
  if (statSync(join(ROOT, below)).isDirectory()) return glob(`${below}/**/*.test.ts`)
  return below.endsWith('.test.ts') ? [below] : []
}

function glob(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT, exclude: EXCLUDE }).toSorted()
}

/** Scenarios, which wait, evenly among the other tests, which calculate: together they use both cores all the time. */
function spread(files: readonly string[]): string[] {
  const scenarios = files.filter((file) => file.startsWith('test/'))
  const others = files.filter((file) => !file.startsWith('test/'))
  const ranked = [scenarios, others].flatMap((list) => list.map((file, i) => ({ file, rank: (i + 0.5) / list.length })))
  return ranked.toSorted((one, other) => one.rank - other.rank).map(({ file }) => file)
}
