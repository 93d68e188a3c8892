/**
 * The roles of `start` as child processes. Each is in its own session, so Ctrl-C reaches only the supervisor, which stops them in order:
 * mail and API first, the sandbox after what sends to it. Each tells over IPC when it is ready, and stops by itself when that channel
 * closes because the supervisor was killed. Before all are ready an end is a failed start; afterwards the role is started again.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { keep, type Kept } from './restart-policy.ts'
import { lastLines, openLogFile } from './log-file.ts'
import { type Running, running } from './processes.ts'
import { type Say, Trouble } from './user-error.ts'
import { showWarnings } from './warnings.ts'

export interface Role {
  readonly name: string
  readonly args: readonly string[]
  /** Of Node, besides those that the supervisor was started with. */
  readonly nodeArgs?: readonly string[]
}

export interface Children {
  stop(): Promise<void>
}

interface Setting {
  readonly logDir: string
  readonly env: NodeJS.ProcessEnv
  readonly say: Say
  /** Ends the wait for a start. */
  readonly signal: AbortSignal
}

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')
/** A role gives up its own stop after 30 s. */
const STOP_GRACE_MS = 32_000
/** How soon a warning in a log shows at the terminal. */
const LOOK_MS = 200

/** The roles that `start` runs, in the order they are stopped: those of one row together. */
export function rolesFor(isSandbox: boolean): readonly (readonly Role[])[] {
  const roles = [
    // more than the others have, as bin/mailstead gives it; of two the last counts
    { name: 'api', args: ['api'], nodeArgs: ['--max-semi-space-size=16'] },
    { name: 'mta', args: ['mta', '--roles', 'outbound'] },
    { name: 'worker', args: ['worker'] },
    { name: 'submission', args: ['mta', '--roles', 'submission'] },
  ]
  const inbound = { name: 'inbound', args: ['mta', '--roles', 'inbound'] }
  // outside of sandbox mode the built-in receiver has only captured mail to take: no process of its own
  if (!isSandbox) return [[...roles, { ...inbound, args: ['mta', '--roles', 'inbound,sandbox'] }]]
  return [[...roles, inbound], [{ name: 'sandbox', args: ['mta', '--roles', 'sandbox'] }]]
}

/** Starts all roles and waits until each says it is ready. Throws Trouble (with nothing left running) when one ends before that. */
export async function startChildren(rows: readonly (readonly Role[])[], setting: Setting): Promise<Children> {
  const kept: Kept[][] = rows.map(() => [])
  const stop = async (): Promise<void> => {
    for (const row of kept) await Promise.all(row.map((one) => one.stop()))
  }
  const failing = new AbortController()
  const signal = AbortSignal.any([setting.signal, failing.signal])
  const starts = rows.flatMap((row, index) =>
    row.map(async (role) => {
      const first = await startRole(role, { ...setting, signal })
      kept[index]?.push(keep(role.name, first, (again) => startRole(role, { ...setting, signal: again }), setting.say))
    }),
  )
  try {
    await Promise.all(starts)
    return { stop }
  } catch (error) {
    // the others may wait for what does not come
    failing.abort()
    await Promise.allSettled(starts)
    await stop()
    throw error
  }
}

async function startRole(role: Role, { logDir, env, say, signal }: Setting): Promise<Running> {
  signal.throwIfAborted()
  const logFile = join(logDir, `${role.name}.log`)
  const log = openLogFile(logFile)
  const show = showWarnings(role.name, logFile, say)
  const child = spawn(process.execPath, [...process.execArgv, ...(role.nodeArgs ?? []), PROGRAM, ...role.args], {
    detached: true,
    env,
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  })
  const watching = setInterval(() => show(log.read()), LOOK_MS)
  const endLog = (): void => {
    clearInterval(watching)
    show(log.read())
    log.close()
  }
  child.once('exit', endLog)
  await once(child, 'spawn').catch((error: unknown) => {
    endLog()
    throw error
  })
  const started = running(child, { stopSignals: ['SIGTERM'], graceMs: STOP_GRACE_MS })
  const giveUp = (): void => void started.stop()
  signal.addEventListener('abort', giveUp, { once: true })
  const isReady = await Promise.race([once(child, 'message').then(() => true), started.exited.then(() => false)])
  signal.removeEventListener('abort', giveUp)
  if (!isReady)
    throw new Trouble(
      `${role.name} did not start (${await started.exited}). The end of ${logFile}:\n${lastLines(logFile, 5)}`,
    )
  return started
}
