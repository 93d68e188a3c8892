/**
 * Starts and stops the processes of Mailstead under measurement, each with the title of its role and a number. They run
 * from the bundle, with the options and the environment that `npm start` gives them; with a CPU profile from their
 * sources, because the stages of a profile are distinguished by file.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepareProgram } from '#bin/supervisor/program-bundle.ts'
import type { ProcessManager, StartedProcess } from './process-manager.ts'
import { waitUntil } from './wait.ts'

export type ProcessName = 'api' | 'submission' | 'mta' | 'worker'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const PROGRAM = join(ROOT, 'bin/mailstead')
/** The mta runs one role per process: the other roles are not measured and would need ports. */
const ARGS: Readonly<Record<ProcessName, readonly string[]>> = {
  api: ['api'],
  submission: ['mta', '--roles', 'submission'],
  mta: ['mta', '--roles', 'outbound'],
  worker: ['worker'],
}

/** As in bin/mailstead. */
const NODE_OPTIONS: readonly string[] = ['--max-semi-space-size=8', '--no-allocation-site-pretenuring']
const POOL_SIZE = { UV_THREADPOOL_SIZE: '2' }
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2', NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node') }

/** Built once for the whole run. */
let bundled: ReturnType<typeof prepareProgram> | null = null

interface ProcessStart {
  readonly manager: ProcessManager
  /** By the titles of `processesOf`. */
  readonly running: Map<string, StartedProcess>
  /** Of the API. */
  readonly port: number
  readonly envOf: (name: ProcessName) => Readonly<Record<string, string>>
  readonly isProfiled: boolean
  /** How many processes the role `mta` has; null = as many as OUTBOUND_PROCESSES says, or one. */
  readonly outboundProcesses: number | null
}

export async function startProcesses(
  names: readonly ProcessName[],
  { manager, running, port, envOf, isProfiled, outboundProcesses }: ProcessStart,
): Promise<void> {
  const program = isProfiled ? 'bin/mailstead.ts' : await bundledProgram()
  for (const name of names)
    for (const [title, args] of processesOf(name, outboundProcesses)) {
      const started = await manager.start({
        name: title,
        file: process.execPath,
        args: [...NODE_OPTIONS, join(ROOT, program), ...args],
        cwd: ROOT,
        env: { ...ENVIRONMENT, ...(ARGS[name][0] === 'mta' ? POOL_SIZE : {}), ...envOf(name) },
      })
      running.set(title, started)
      if (name === 'api') await waitUntil('the API being ready', () => isReady(port), started)
    }
}

async function bundledProgram(): Promise<string> {
  bundled ??= prepareProgram()
  const { program, failure } = await bundled
  if (failure !== null) process.stderr.write(`${failure}\n`)
  return program
}

export async function stopProcesses(names: readonly ProcessName[], running: ProcessStart['running']): Promise<void> {
  const titles = [...running.keys()].filter((title) =>
    names.some((name) => title === name || title.startsWith(`${name}-`)),
  )
  await Promise.all(titles.map(async (title) => running.get(title)?.stop()))
  for (const title of titles) running.delete(title)
}

/** The processes of a role, with their arguments. */
function processesOf(
  name: ProcessName,
  outboundProcesses: number | null,
): (readonly [title: string, args: readonly string[]])[] {
  const count = name === 'mta' ? (outboundProcesses ?? Number(process.env['OUTBOUND_PROCESSES'] ?? 1)) : 1
  return Array.from({ length: count }, (_, i) =>
    i === 0 ? [name, ARGS[name]] : [`${name}-${i + 1}`, [...ARGS[name], '--number', String(i + 1)]],
  )
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  } catch {
    return false
  }
}
