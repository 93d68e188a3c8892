/**
 * Runs the roles of `start` as child processes. Each has its own session, so Ctrl-C reaches only the supervisor, which
 * stops them in order: API and mail first, then the sandbox that receives the mail. A role reports over IPC when it is
 * ready, and stops when the channel closes because the supervisor was killed. The sandbox starts first and reports the
 * ports that it opened, which the other roles get as settings. If a role exits before all are ready, the start fails;
 * afterwards it is restarted.
 *
 * Each role starts without a way to get new privileges. If the supervisor is root, it stays root to open ports and read
 * files, also after a restart, and each role switches to a user of its own (privileges.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { superviseProcess, type SupervisedProcess } from './restart-policy.ts'
import { KEYS_DESCRIPTOR, type RoleKeys } from '#src/crypto/role-keys.ts'
import type { Config } from '#config/load.ts'
import type { KeyRole } from '#src/crypto/purposes.ts'
import { isSmallMachine, machineMemory } from '#src/platform/machine-memory.ts'
import { lastLines, openLogFile } from './log-file.ts'
import { canSetNoNewPrivileges, roleLaunch, withoutNewPrivileges } from './privileges.ts'
import { type RunningProcess, watchProcess } from './processes.ts'
import { noteProgramUser } from './program-bundle.ts'
import { type FileSettings, sendSettingFiles } from './setting-files.ts'
import { type PrintLine, UserError } from './user-error.ts'
import { showWarnings } from './warnings.ts'

export interface RoleProcess {
  readonly name: string
  readonly args: readonly string[]
  /** The roles in the process, whose keys it gets. */
  readonly keysFor: readonly KeyRole[]
  /** Options of Node, in addition to those of the supervisor. */
  readonly nodeArgs?: readonly string[]
  /** Settings of Node that the environment of the supervisor may override. */
  readonly env?: Readonly<Record<string, string>>
  /** Starts before the other roles, which get the settings that it announces. So does this role if it is restarted. */
  readonly isFirst?: boolean
  /** Arguments of the first start only. */
  readonly firstArgs?: readonly string[]
}

export interface RoleProcesses {
  stop(): Promise<void>
}

type StartedRole = RunningProcess & ReadyMessage

interface RoleEnvironment {
  /** The program that they run, relative to the root of the checkout or package. */
  readonly program?: string
  readonly logDir: string
  readonly env: NodeJS.ProcessEnv
  readonly settings: FileSettings & { readonly keepRoot: boolean }
  /** The keys that a process gets through a pipe, which no other process can read. */
  readonly keysOf: (roles: readonly KeyRole[]) => RoleKeys
  readonly say: PrintLine
  /** Aborts the start. */
  readonly signal: AbortSignal
}

/** Longer than the 30 s after which a role aborts its own shutdown. */
const STOP_GRACE_MS = 32_000
/** The descriptor of the pipe with the keys, after those of stdin, stdout, stderr and IPC. */
const KEYS_FD = 4
/** How often the logs are read for warnings to print. */
const LOG_POLL_MS = 200

const MAX_OUTBOUND = 16

/**
 * How many outbound processes `cores` cores can feed. The other roles and the stores need as much CPU as one, and one
 * uses hardly more than a core, because signatures apart it composes and talks SMTP in one thread.
 */
export function countOutboundProcesses(cores = availableParallelism()): number {
  return Math.min(MAX_OUTBOUND, Math.max(1, Math.floor(cores / 2)))
}

/** As in bin/mailstead. */
const POOL_SIZE = { UV_THREADPOOL_SIZE: '2' }

/** What decides on the processes. */
export type RoleSettings = Pick<Config, 'isSandbox' | 'outboundProcesses' | 'isCompact'>

/**
 * The roles that `start` runs, in the order in which they stop. The roles of one row stop together. In the sandbox all
 * roles that receive mail share a process, unless COMPACT is set: they are idle nearly always, and their mail stays on
 * this machine.
 */
export function listRoles(
  { isSandbox, outboundProcesses, isCompact }: RoleSettings,
  memoryBytes = machineMemory(),
): readonly (readonly RoleProcess[])[] {
  const isSmall = isCompact ?? isSmallMachine(memoryBytes)
  const outbound = outboundProcesses ?? (isSmall ? 1 : countOutboundProcesses())
  const sending: RoleProcess[] = [
    // the last of two equal options counts
    { name: 'api', args: ['api'], keysFor: ['api'], nodeArgs: isSmall ? ['--max-semi-space-size=4'] : [] },
    ...Array.from({ length: outbound }, (_, i) => outboundProcess(i + 1, isSmall)),
    { name: 'worker', args: ['worker'], keysFor: ['worker'] },
  ]
  const submission: RoleProcess[] = isSmall ? [] : [{ name: 'submission', ...mtaWith('submission') }]
  if (!isSandbox) return [[...sending, ...submission, receiver('inbound', 'inbound', 'sandbox')]]
  // the built-in receiver receives all mail, so it stops last
  if (isSmall) return [sending, [receiver('inbound', 'inbound', 'sandbox')]]
  if (isCompact === null) return [sending, [receiver('sandbox', 'sandbox', 'inbound', 'submission')]]
  const inbound: RoleProcess = { name: 'inbound', ...mtaWith('inbound') }
  return [[...sending, ...submission, inbound], [receiver('sandbox', 'sandbox')]]
}

/** The first one has the name that it has alone. */
function outboundProcess(number: number, isSmall: boolean): RoleProcess {
  const role = isSmall && number === 1 ? mtaWith('outbound', 'submission') : mtaWith('outbound')
  return number === 1
    ? { name: 'mta', ...role }
    : { ...role, name: `mta-${number}`, args: [...role.args, '--number', String(number)] }
}

/** A process with the built-in receiver: the others need its ports. */
function receiver(name: string, ...roles: KeyRole[]): RoleProcess {
  return { name, ...mtaWith(...roles), isFirst: true, firstArgs: ['--any-port'] }
}

function mtaWith(...roles: KeyRole[]): Pick<RoleProcess, 'args' | 'keysFor' | 'env'> {
  return { args: ['mta', '--roles', roles.join(',')], keysFor: roles, env: POOL_SIZE }
}

/** Starts all roles and waits until they are ready. @throws UserError if one exits before; then all are stopped. */
export async function startRoleProcesses(
  rows: readonly (readonly RoleProcess[])[],
  environment: RoleEnvironment,
): Promise<RoleProcesses> {
  const supervised: SupervisedProcess[][] = rows.map(() => [])
  if (!canSetNoNewPrivileges())
    environment.say('The program setpriv (util-linux) is missing, so the roles run without no-new-privs.')
  const stop = async (): Promise<void> => {
    for (const row of supervised) await Promise.all(row.map((one) => one.stop()))
  }
  const failing = new AbortController()
  const signal = AbortSignal.any([environment.signal, failing.signal])
  const announced: Record<string, string> = {}
  const start = async (role: RoleProcess, index: number): Promise<void> => {
    const env = { ...environment.env, ...announced }
    const args = [...role.args, ...(role.firstArgs ?? [])]
    const first = await startRole({ ...role, args }, { ...environment, env, signal })
    Object.assign(announced, first.announced)
    const again = { ...environment, env: { ...env, ...first.announced } }
    supervised[index]?.push(
      superviseProcess(
        role.name,
        first,
        (stopping) => startRole(role, { ...again, signal: stopping }),
        environment.say,
      ),
    )
  }
  const startAll = (isFirst: boolean): Promise<void>[] =>
    rows.flatMap((row, index) =>
      row.filter((role) => (role.isFirst ?? false) === isFirst).map((role) => start(role, index)),
    )
  const starts: Promise<void>[] = []
  try {
    for (const isFirst of [true, false]) {
      starts.push(...startAll(isFirst))
      await Promise.all(starts)
    }
    return { stop }
  } catch (error) {
    // the other roles may wait for the one that failed
    failing.abort()
    await Promise.allSettled(starts)
    await stop()
    throw error
  }
}

/** The message of a role that is ready; see bin/commands/role.ts. */
interface ReadyMessage {
  readonly announced: Readonly<Record<string, string>>
}

async function startRole(role: RoleProcess, environment: RoleEnvironment): Promise<StartedRole> {
  const { logDir, keysOf, say, signal, settings } = environment
  signal.throwIfAborted()
  const logFile = join(logDir, `${role.name}.log`)
  const log = openLogFile(logFile)
  const show = showWarnings(role.name, logFile, say)
  const { options, program, cwd, env } = roleLaunch(role.keysFor, settings, environment)
  const nodeArgs = [...process.execArgv, ...options, ...(role.nodeArgs ?? [])]
  const [file, ...args] = withoutNewPrivileges([process.execPath, ...nodeArgs, program, ...role.args])
  const child = spawn(file, args, {
    detached: true,
    cwd,
    env: { ...role.env, ...env, [KEYS_DESCRIPTOR]: String(KEYS_FD) },
    stdio: ['ignore', log.fd, log.fd, 'ipc', 'pipe'],
  })
  passKeys(child, keysOf(role.keysFor))
  const endFiles = sendSettingFiles(child, settings, role.keysFor)
  const watching = setInterval(() => show(log.read()), LOG_POLL_MS)
  const endLog = (): void => {
    clearInterval(watching)
    endFiles()
    show(log.read())
    log.close()
  }
  child.once('exit', endLog)
  await once(child, 'spawn').catch((error: unknown) => {
    endLog()
    throw error
  })
  if (environment.program !== undefined) noteProgramUser(environment.program, child.pid)
  const started = watchProcess(child, { stopSignals: ['SIGTERM'], graceMs: STOP_GRACE_MS })
  const cancel = (): void => void started.stop()
  signal.addEventListener('abort', cancel, { once: true })
  const message = once(child, 'message').then(([ready]) => ready as ReadyMessage)
  const ready = await Promise.race([message, started.exited.then(() => null)])
  signal.removeEventListener('abort', cancel)
  if (ready === null)
    throw new UserError(
      `${role.name} did not start (${await started.exited}). Last lines of ${logFile}:\n${lastLines(logFile, 5)}\n`,
      'Correct what they report, then start again.',
    )
  return { ...started, announced: ready.announced }
}

/** A child that exits before it has read them is reported by its exit. */
function passKeys(child: ChildProcess, keys: RoleKeys): void {
  const pipe = child.stdio[KEYS_FD]
  if (!(pipe instanceof Writable)) return
  pipe.on('error', () => undefined)
  pipe.end(JSON.stringify(keys))
}
