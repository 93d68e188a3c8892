/**
 * `npm test`: the static checks (each counts as one test), then all test files with mocha, several at a time, on one
 * PostgreSQL that is started for the run. With arguments only mocha runs, on the files that they name; PostgreSQL is
 * started only when one of these files can use it. The last line is always `N passed, N failed`. Nothing is left
 * behind, however the run ends.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { buildDashboard } from '#bin/supervisor/dashboard-build.ts'
import { prepareProgram } from '#bin/supervisor/program-bundle.ts'
import { findRedis } from '#bin/supervisor/redis-binaries.ts'
import { chooseAccount } from '#bin/supervisor/account.ts'
import { SETTINGS } from '#config/schema.ts'
import { startTemplateCluster } from '#test/support/stores.ts'
import { runChecks, toolEnvironment } from './checks.ts'
import { type Selection, selectTests } from './selection.ts'
import { ROOT } from './source-imports.ts'

const FILES_FROM_SOURCE = 5

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped?: number
}

/** Runs the tests that `args` select. Returns the exit code. `signal` ends the run early. */
export async function runTests(args: readonly string[], signal: AbortSignal): Promise<number> {
  const selection = selectTests(args)
  if (typeof selection === 'string') {
    process.stderr.write(`mailstead test: ${selection}\n`)
    return 2
  }
  const work = mkdtempSync('/tmp/mailstead-run-')
  try {
    // The checks and the preparation leave a core idle for half of their time, each at another one.
    const [checked, prepared] = await Promise.all([
      args.length === 0 ? runChecks([]) : { passed: 0, failed: 0 },
      prepare(selection, work),
    ])
    const counts: Counts[] = [checked]
    try {
      if (!signal.aborted) counts.push(await runMocha(selection, prepared.env, { work, signal }))
    } finally {
      await prepared.stop()
    }
    const [passed, failed, skipped] = [sum(counts, 'passed'), sum(counts, 'failed'), sum(counts, 'skipped')]
    print(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
    return failed === 0 && passed > 0 && !signal.aborted ? 0 : 1
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

interface Prepared {
  /** For the tests. */
  readonly env: NodeJS.ProcessEnv
  stop(): Promise<void>
}

/** Does once what each test process would do at the same time: fetches Redis, builds, and starts PostgreSQL. */
async function prepare({ needsStores, files }: Selection, work: string): Promise<Prepared> {
  if (!needsStores) return { env: {}, stop: () => Promise.resolve() }
  findRedis(chooseAccount(work), print)
  const failure = await buildDashboard()
  if (failure !== null) print(failure)
  // Less than a handful of files take less time from the sources than with a new bundle.
  const bundled = files.length > FILES_FROM_SOURCE ? await prepareProgram() : null
  if (typeof bundled?.failure === 'string') print(bundled.failure)
  const cluster = await startTemplateCluster()
  return {
    env: {
      TEST_PG_URL: cluster.url,
      TEST_PG_DATA: cluster.initialData,
      ...(bundled === null ? {} : { TEST_PROGRAM: join(ROOT, bundled.program) }),
    },
    stop: () => cluster.stop(),
  }
}

interface MochaOptions {
  /** A folder for what it writes. */
  readonly work: string
  readonly signal: AbortSignal
}

async function runMocha(selection: Selection, env: NodeJS.ProcessEnv, { work, signal }: MochaOptions): Promise<Counts> {
  const countsFile = join(work, 'counts.json')
  const child = spawn(process.execPath, mochaArguments(selection), {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...withoutSettings(toolEnvironment()), ...env, TEST_COUNTS_FILE: countsFile },
  })
  signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true })
  const [code] = await once(child, 'exit')
  return readCounts(countsFile, code === 0)
}

function mochaArguments({ files, options }: Selection): string[] {
  // Two for each core and one more: scenarios wait for most of their time.
  const jobs = Math.max(4, Math.min(8, 2 * availableParallelism() + 1))
  return [
    join(ROOT, 'node_modules/mocha/bin/mocha.js'),
    ...(files.length === 1 ? [] : ['--parallel', '--jobs', String(jobs)]),
    '--reporter',
    join(ROOT, 'test/support/reporter.ts'),
    ...options,
    ...files,
  ]
}

/** The environment without settings of Mailstead: each test sets its own. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const settings = new Set<string>(Object.values(SETTINGS).flatMap((setting) => [setting.env, `${setting.env}_FILE`]))
  return Object.fromEntries(Object.entries(env).filter(([name]) => !settings.has(name)))
}

/** What the reporter counted. A run that ended without a count has failed. */
function readCounts(file: string, isGood: boolean): Counts {
  if (!existsSync(file)) {
    print('FAILED  mocha ended before it could count')
    return { passed: 0, failed: 1 }
  }
  const { passes, failures, pending } = JSON.parse(readFileSync(file, 'utf8')) as {
    passes: number
    failures: number
    pending: number
  }
  return { passed: passes, failed: isGood ? failures : Math.max(1, failures), skipped: pending }
}

function sum(counts: readonly Counts[], key: keyof Counts): number {
  return counts.reduce((total, one) => total + (one[key] ?? 0), 0)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
