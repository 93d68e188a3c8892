/**
 * The static checks: formatter, compiler, linter and unused code. `npm test` runs all of them on the whole project and
 * counts each as one test; `npm run check` runs them alone. For named files only what concerns those files runs, and
 * the compiler reuses its last result, so that the answer comes within seconds.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname, join } from 'node:path'
import { ROOT } from './source-imports.ts'

const TOOLS = join(ROOT, 'node_modules/.bin')
/** What the compiler found in its last run; it compiles again only what changed. */
const COMPILED = join(ROOT, 'node_modules/.cache/tsc.json')
const COMPILED_DASHBOARD = join(ROOT, 'node_modules/.cache/tsc-dashboard.json')

interface Check {
  readonly name: string
  readonly command: readonly [program: string, ...args: string[]]
  /** Which of the named files the program reads: all, those with code, or none since it reads the whole project. */
  readonly reads: 'files' | 'code' | 'project'
}

const CHECKS: readonly Check[] = [
  { name: 'format (oxfmt)', command: ['oxfmt', '--check', '--no-error-on-unmatched-pattern'], reads: 'files' },
  {
    name: 'types (tsc)',
    command: ['tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', COMPILED],
    reads: 'project',
  },
  {
    name: 'types of the dashboard (tsc)',
    command: ['tsc', '-p', 'dashboard', '--incremental', '--tsBuildInfoFile', COMPILED_DASHBOARD],
    reads: 'project',
  },
  { name: 'lint (oxlint)', command: ['oxlint', '--no-error-on-unmatched-pattern'], reads: 'code' },
]
/** Needs the whole project: an export is unused only when no file uses it. */
const UNUSED: Check = { name: 'nothing unused (knip)', command: ['knip', '--no-progress'], reads: 'project' }

/** The environment of the checks: programs of node_modules run on the Node that runs this process. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: [dirname(process.execPath), TOOLS, process.env['PATH'] ?? ''].join(delimiter) }
}

/**
 * Runs the checks one after the other and prints a line for each; a failed one prints its output.
 * @param files paths from the root; none means the whole project
 * @returns how many passed and failed
 */
export async function runChecks(files: readonly string[]): Promise<{ passed: number; failed: number }> {
  const counts = { passed: 0, failed: 0 }
  for (const check of files.length === 0 ? [...CHECKS, UNUSED] : CHECKS) {
    const named = selectFiles(check, files)
    if (named !== null) counts[(await runCheck(check, named)) ? 'passed' : 'failed'] += 1
  }
  return counts
}

/** The files to pass to a check; null when none of them concerns it. */
function selectFiles({ reads }: Check, files: readonly string[]): readonly string[] | null {
  if (reads === 'project' || files.length === 0) return []
  const named = reads === 'code' ? files.filter((file) => /\.[cm]?[jt]sx?$/.test(file)) : files
  return named.length === 0 ? null : named
}

async function runCheck({ name, command: [program, ...args] }: Check, files: readonly string[]): Promise<boolean> {
  const child = spawn(join(TOOLS, program), [...args, ...files], {
    cwd: ROOT,
    env: toolEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close')
  const isGood = code === 0
  process.stdout.write(
    isGood ? `ok      ${name}\n` : `FAILED  ${name}\n${Buffer.concat(output).toString().trimEnd()}\n\n`,
  )
  return isGood
}
