/**
 * Runs the roles of `start` as child processes. Each has its own session, so Ctrl-C reaches only the supervisor, which
 * stops them in order: API and mail first, then the sandbox that receives the mail. A role reports over IPC when it is
 * ready, and stops when the channel closes because the supervisor was killed. If a role exits before all are ready, the
 * start fails; afterwards it is restarted.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { superviseProcess, type SupervisedProcess } from './restart-policy.ts'
import { lastLines, openLogFile } from './log-file.ts'
import { type RunningProcess, watchProcess } from './processes.ts'
import { type PrintLine, UserError } from './user-error.ts'
import { showWarnings } from './warnings.ts'

export interface RoleProcess {
  readonly name: string
  readonly args: readonly string[]
  /** Options of Node, in addition to those of the supervisor. */
  readonly nodeArgs?: readonly string[]
}

export interface RoleProcesses {
  stop(): Promise<void>
}

interface RoleEnvironment {
  readonly logDir: string
  readonly env: NodeJS.ProcessEnv
  readonly say: PrintLine
  /** Aborts the start. */
  readonly signal: AbortSignal
}

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')
/** Longer than the 30 s after which a role aborts its own shutdown. */
const STOP_GRACE_MS = 32_000
/** How often the logs are read for warnings to print. */
const LOG_POLL_MS = 200

/** The roles that `start` runs, in the order in which they stop. The roles of one row stop together. */
export function listRoles(isSandbox: boolean): readonly (readonly RoleProcess[])[] {
  const roles = [
    // larger than that of the other roles, as in bin/mailstead; the last of two equal options counts
    { name: 'api', args: ['api'], nodeArgs: ['--max-semi-space-size=16'] },
    { name: 'mta', args: ['mta', '--roles', 'outbound'] },
    { name: 'worker', args: ['worker'] },
    { name: 'submission', args: ['mta', '--roles', 'submission'] },
  ]
  const inbound = { name: 'inbound', args: ['mta', '--roles', 'inbound'] }
  // outside of sandbox mode the built-in receiver accepts captured mail only and needs no process of its own
  if (!isSandbox) return [[...roles, { ...inbound, args: ['mta', '--roles', 'inbound,sandbox'] }]]
  return [[...roles, inbound], [{ name: 'sandbox', args: ['mta', '--roles', 'sandbox'] }]]
}

/** Starts all roles and waits until they are ready. @throws UserError if one exits before; then all are stopped. */
export async function startRoleProcesses(
  rows: readonly (readonly RoleProcess[])[],
  environment: RoleEnvironment,
): Promise<RoleProcesses> {
  const supervised: SupervisedProcess[][] = rows.map(() => [])
  const stop = async (): Promise<void> => {
    for (const row of supervised) await Promise.all(row.map((one) => one.stop()))
  }
  const failing = new AbortController()
  const signal = AbortSignal.any([environment.signal, failing.signal])
  const starts = rows.flatMap((row, index) =>
    row.map(async (role) => {
      const first = await startRole(role, { ...environment, signal })
      supervised[index]?.push(
        superviseProcess(
          role.name,
          first,
          (again) => startRole(role, { ...environment, signal: again }),
          environment.say,
        ),
      )
    }),
  )
  try {
    await Promise.all(starts)
    return { stop }
  } catch (error) {
    // the other roles may wait for the one that failed
    failing.abort()
    await Promise.allSettled(starts)
    await stop()
    throw error
  }
}

async function startRole(role: RoleProcess, { logDir, env, say, signal }: RoleEnvironment): Promise<RunningProcess> {
  signal.throwIfAborted()
  const logFile = join(logDir, `${role.name}.log`)
  const log = openLogFile(logFile)
  const show = showWarnings(role.name, logFile, say)
  const child = spawn(process.execPath, [...process.execArgv, ...(role.nodeArgs ?? []), PROGRAM, ...role.args], {
    detached: true,
    env,
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  })
  const watching = setInterval(() => show(log.read()), LOG_POLL_MS)
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
  const started = watchProcess(child, { stopSignals: ['SIGTERM'], graceMs: STOP_GRACE_MS })
  const cancel = (): void => void started.stop()
  signal.addEventListener('abort', cancel, { once: true })
  const isReady = await Promise.race([once(child, 'message').then(() => true), started.exited.then(() => false)])
  signal.removeEventListener('abort', cancel)
  if (!isReady)
    throw new UserError(
      `${role.name} did not start (${await started.exited}). Last lines of ${logFile}:\n${lastLines(logFile, 5)}`,
    )
  return started
}
