/**
 * `npm test`: the static checks (each counts as one test), then all test files with mocha, several at a time, on one PostgreSQL that is
 * started for the run. With arguments only mocha runs, and gets them (`npm test -- --grep x`, or files). The last line is always
 * `N passed, N failed`. Nothing is left behind, however the run ends.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { findRedis } from '#bin/supervisor/redis-binaries.ts'
import { chooseAccount } from '#bin/supervisor/account.ts'
import { SETTINGS } from '#config/schema.ts'
import { startTemplateCluster } from '#test/support/stores.ts'

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

const ROOT = join(import.meta.dirname, '..')
const TOOLS = join(ROOT, 'node_modules/.bin')
const FILES = '{src,mta,api,worker,config,migrations,bin,bench,test,clients,docs}/**/*.test.ts'
/** The programs of node_modules are scripts for a Node that is new enough, which `node` on PATH may not be. */
const PATH = [dirname(process.execPath), TOOLS, process.env['PATH'] ?? ''].join(delimiter)
const CHECKS: readonly (readonly [name: string, program: string, ...args: string[]])[] = [
  ['format (oxfmt)', 'oxfmt', '--check', '.'],
  ['types (tsc)', 'tsc', '-p', '.'],
  ['lint (oxlint)', 'oxlint'],
  ['nothing unused (knip)', 'knip', '--no-progress'],
]

/** Runs everything; answers the exit code. `signal` ends the run early. */
export async function runTests(args: readonly string[], signal: AbortSignal): Promise<number> {
  const counts: Counts[] = []
  if (args.length === 0) for (const [name, program, ...rest] of CHECKS) counts.push(await check(name, program, rest))
  if (!signal.aborted) counts.push(await runMocha(args, signal))
  const [passed, failed, skipped] = [sum(counts, 'passed'), sum(counts, 'failed'), sum(counts, 'skipped')]
  tell(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  return failed === 0 && passed > 0 && !signal.aborted ? 0 : 1
}

async function check(name: string, program: string, args: readonly string[]): Promise<Counts> {
  const child = spawn(join(TOOLS, program), args, {
    cwd: ROOT,
    env: { ...process.env, PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close')
  const isGood = code === 0
  tell(isGood ? `ok      ${name}` : `FAILED  ${name}\n${Buffer.concat(output).toString().trimEnd()}\n`)
  return { passed: isGood ? 1 : 0, failed: isGood ? 0 : 1, skipped: 0 }
}

async function runMocha(args: readonly string[], signal: AbortSignal): Promise<Counts> {
  const work = mkdtempSync('/tmp/mailstead-run-')
  const countsFile = join(work, 'counts.json')
  // Fetched once here, not by each test file at once.
  findRedis(chooseAccount(work), tell)
  const cluster = await startTemplateCluster()
  try {
    const child = spawn(process.execPath, mochaArguments(args), {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...plainEnvironment(), PATH, TEST_PG_URL: cluster.url, TEST_COUNTS_FILE: countsFile },
    })
    signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true })
    const [code] = await once(child, 'exit')
    return readCounts(countsFile, code === 0)
  } finally {
    await cluster.stop()
    rmSync(work, { recursive: true, force: true })
  }
}

function mochaArguments(args: readonly string[]): string[] {
  const hasFiles = args.some((arg) => existsSync(join(ROOT, arg)) || arg.includes('*'))
  const files = hasFiles ? [] : spread(globSync(FILES, { cwd: ROOT, exclude: ['**/node_modules/**'] }).toSorted())
  // one more than two cores: scenarios wait for most of their time
  const jobs = Math.max(3, Math.min(8, availableParallelism()))
  return [
    join(ROOT, 'node_modules/mocha/bin/mocha.js'),
    '--parallel',
    '--jobs',
    String(jobs),
    '--reporter',
    join(ROOT, 'test/support/reporter.ts'),
    ...args,
    ...files,
  ]
}

/** Scenarios, which wait, evenly among the others, which calculate: together they keep the cores busy. */
function spread(files: readonly string[]): string[] {
  const waiting = files.filter((file) => file.startsWith('test/'))
  const others = files.filter((file) => !file.startsWith('test/'))
  const placed = [waiting, others].flatMap((list) => list.map((file, i) => ({ file, place: (i + 0.5) / list.length })))
  return placed.toSorted((one, other) => one.place - other.place).map(({ file }) => file)
}

/** The environment without settings of Mailstead: tests decide about those themselves. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const settings = new Set<string>(Object.values(SETTINGS).flatMap(({ env }) => [env, `${env}_FILE`]))
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !settings.has(name)))
}

/** What the reporter counted; a run that did not come to its end has failed. */
function readCounts(file: string, isGood: boolean): Counts {
  if (!existsSync(file)) {
    tell('FAILED  mocha ended before it could count')
    return { passed: 0, failed: 1, skipped: 0 }
  }
  const { passes, failures, pending } = JSON.parse(readFileSync(file, 'utf8')) as {
    passes: number
    failures: number
    pending: number
  }
  return { passed: passes, failed: isGood ? failures : Math.max(1, failures), skipped: pending }
}

function sum(counts: readonly Counts[], key: keyof Counts): number {
  return counts.reduce((total, one) => total + one[key], 0)
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}
