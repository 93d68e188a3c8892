/** Starts and stops the processes of Mailstead under measurement, each with the title of its role and a number. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
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

interface ProcessStart {
  readonly manager: ProcessManager
  /** By the titles of `processesOf`. */
  readonly running: Map<string, StartedProcess>
  /** Of the API. */
  readonly port: number
  readonly envOf: (name: ProcessName) => Readonly<Record<string, string>>
}

export async function startProcesses(
  names: readonly ProcessName[],
  { manager, running, port, envOf }: ProcessStart,
): Promise<void> {
  for (const name of names)
    for (const [title, args] of processesOf(name)) {
      const started = await manager.start({ name: title, file: PROGRAM, args, cwd: ROOT, env: envOf(name) })
      running.set(title, started)
      if (name === 'api') await waitUntil('the API being ready', () => isReady(port), started)
    }
}

export async function stopProcesses(names: readonly ProcessName[], running: ProcessStart['running']): Promise<void> {
  const titles = names.flatMap((name) => processesOf(name).map(([title]) => title))
  await Promise.all(titles.map(async (title) => running.get(title)?.stop()))
  for (const title of titles) running.delete(title)
}

/** The processes of a role, with their arguments: as many outbound ones as OUTBOUND_PROCESSES says, or one. */
function processesOf(name: ProcessName): (readonly [title: string, args: readonly string[]])[] {
  const count = name === 'mta' ? Number(process.env['OUTBOUND_PROCESSES'] ?? 1) : 1
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
