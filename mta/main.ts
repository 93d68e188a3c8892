/**
 * The mail transfer process, by roles: `outbound` sends, `inbound` receives bounces and complaints, `submission`
 * accepts mail by SMTP, and `sandbox` is the built-in receiver of a system without a public name. It waits at the
 * start while a store is away or the database is not migrated, and while it is not known that the installation is one
 * to which this process may belong (src/installation-mode.ts). Roles stop in the reverse order of their start.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { Config } from '#config/load.ts'
import { createPausable } from '#src/concurrency/pausable.ts'
import { createFailureBackoff, type FailureBackoff } from '#src/concurrency/failure-backoff.ts'
import { beginShutdown } from '#src/concurrency/shutdown.ts'
import { checkStores, openTracedContext, type Context } from '#src/context.ts'
import { KEY_ROLES } from '#src/crypto/purposes.ts'
import { isDatabaseAway, isUnmigrated } from '#src/stores/db.ts'
import { startProcessMetrics } from '#src/metrics/process-metrics.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import { startClockWatch } from '#src/operator/clock-watch.ts'
import { startNodeMembership, type NodeMembership } from '#src/operator/node-membership.ts'
import { startOutbound, type IsOnHost } from '#mta/outbound/outbound.ts'

interface RunningRole {
  stop(): Promise<void>
  /** Names of the addresses that it sends from. */
  readonly sources?: readonly string[]
  /** The sources of each other running process that sends. */
  setOtherSources?(sources: readonly (readonly string[])[]): void
  /** Whether new connections are closed at once, because the node is being drained. */
  refuseConnections?(isRefusing: boolean): void
}

export interface MtaOptions {
  readonly stop?: AbortSignal
  /** The built-in receiver uses other ports if those of the settings are in use. */
  readonly anyPort?: boolean
  /** How to find out whether an address is on this machine; tests run several machines in one. */
  readonly isOnHost?: IsOnHost | undefined
  /** Called when ports and files are open: the process may give up its rights before it accepts a connection. */
  readonly onOpened?: () => void
}

interface MtaProcess extends RunningRole {
  /** The settings with which other processes reach the built-in receiver; empty if it does not run here. */
  readonly announced: Announced
}

type Announced = Readonly<Record<string, string>>

interface RoleDeps {
  readonly redisUrl: string
  readonly metrics: MetricRegistry
  readonly anyPort: boolean
  readonly isOnHost: IsOnHost | undefined
}

type StartRole = (ctx: Context, deps: RoleDeps) => Promise<RunningRole & { readonly announced?: Announced }>

/** Opens what needs the rights of the user who starts the process: ports and files. Returns how to start the role. */
type OpenRole = (ctx: Context) => Promise<StartRole>

const ROLES: Readonly<Record<string, OpenRole>> = {
  outbound: () =>
    Promise.resolve((ctx, { redisUrl, metrics, isOnHost }) => startOutbound(ctx, redisUrl, metrics, isOnHost)),
  // loaded only where they run: a process that sends needs no parser, certificate or receiver
  inbound: async (opening) => {
    const { openInbound, startInbound } = await import('#mta/inbound/inbound.ts')
    const opened = await openInbound(opening)
    return (ctx, { metrics }) => startInbound(ctx, metrics, opened)
  },
  submission: async (opening) => {
    const { openSubmission, startSubmission } = await import('#mta/submission/submission.ts')
    const opened = await openSubmission(opening)
    return (ctx, { metrics }) => startSubmission(ctx, metrics, opened)
  },
  sandbox: async (opening) => {
    const { loadSandboxCertificate, startSandbox } = await import('#mta/sandbox/sandbox.ts')
    const certificate = await loadSandboxCertificate(opening)
    return async (ctx, { anyPort }) => {
      const sandbox = await startSandbox(ctx, { anyPort, certificate })
      const announced = { SANDBOX_DNS_PORT: String(sandbox.dnsPort), SANDBOX_SMTP_PORT: String(sandbox.smtpPort) }
      return { stop: () => sandbox.stop(), announced }
    }
  },
}

/** The names that `--roles` accepts; the default is `outbound`. */
export const ROLE_NAMES = Object.keys(ROLES)

const RETRIES = { firstMs: 500, longestMs: 2000 }
/**
 * Few of the objects of a message outlive a young collection, so the heap is collected before it has grown by more than
 * this: 50 MB less under load, for 4 % of the CPU of this process (docs/decisions/126).
 */
const HEAP = '--heap-growing-percent=80'
/**
 * For a process that only accepts mail. Messages are outside V8's heap, but V8 counts them: every 20 MB of them started
 * a collection of the 25 MB that stay, which took a tenth of its CPU with mail of 40 KB. Now every 75 MB do.
 */
const SUBMISSION_HEAP = '--heap-growing-percent=300'
/** Orchestrators wait 30 s before they kill a process; the stores are closed after this. */
const MAX_STOP_MS = 27_000
const LAST_STEP_MS = 500
/** How long a stop waits for a role that is starting, perhaps with a store that hangs. */
const STARTING_MS = 5000

/** Starts no further role once `stop` is aborted. @throws for an unknown role, or settings without stores. */
export async function main(
  config: Config,
  roles: readonly string[] = ['outbound'],
  { stop = new AbortController().signal, anyPort = false, isOnHost, onOpened = () => undefined }: MtaOptions = {},
): Promise<MtaProcess> {
  const unknown = roles.filter((role) => !(role in ROLES))
  if (unknown.length > 0) throw new Error(`no role ${unknown.join(', ')}; the roles are ${ROLE_NAMES.join(', ')}`)
  setFlagsFromString(roles.join(',') === 'submission' ? SUBMISSION_HEAP : HEAP)
  const context = await openTracedContext(config, 'mta', { keysFor: KEY_ROLES.filter((role) => roles.includes(role)) })
  const mode = await checkStores(context)
  const { ctx, redisUrl, close } = context
  const metrics = startProcessMetrics(ctx, roles.join('+'))
  const clockWatch = startClockWatch(ctx, roles.join('+'))
  const running: RunningPart[] = []
  const node = joinNode(ctx, roles, running)
  const announced: Record<string, string> = {}
  const begin = (start: StartRole): ReturnType<StartRole> => start(ctx, { redisUrl, metrics, anyPort, isOnHost })
  const stopAll = async (): Promise<void> => {
    const shutdown = beginShutdown(ctx.log, MAX_STOP_MS)
    for (const one of running.toReversed()) await shutdown.step(one.role, () => one.stop())
    clockWatch.stop()
    await shutdown.step('node', () => node.stop(), LAST_STEP_MS)
    await shutdown.step('metrics', () => metrics.stop(), LAST_STEP_MS)
    await shutdown.step('traces', async () => ctx.tracer?.stop(), LAST_STEP_MS)
    await shutdown.step('stores', close)
    ctx.log.info('stopped')
  }
  try {
    const opened: [role: string, start: StartRole][] = []
    for (const role of roles) opened.push([role, await openRole(role, ctx)])
    onOpened()
    await node.reported
    if (roles.some((role) => role !== WITHOUT_MODE))
      await doWhenStoresAreReady(ctx, 'mode', { stop, begin: () => mode.agree() })
    for (const [role, start] of opened) {
      const part = await startPart(ctx, role, {
        isDraining: node.isDraining,
        start: () => doWhenStoresAreReady(ctx, role, { stop, begin: () => begin(start) }),
        announce: (settings) => Object.assign(announced, settings),
      })
      if (part === null) continue
      running.push(part)
      // the node may have changed while the role waited for a store
      part.drain(node.isDraining)
    }
  } catch (error) {
    // stops the started roles in order, so that conversations end properly
    await stopAll()
    throw error
  }
  if (!stop.aborted) ctx.log.info({ roles }, 'started')
  return { stop: stopAll, announced }
}

/** Reports the process, and passes on to its roles what the others report. */
function joinNode(ctx: Context, roles: readonly string[], running: readonly RunningPart[]): NodeMembership {
  return startNodeMembership(ctx, {
    roles,
    sources: () => running.flatMap(({ sources }) => sources()),
    isDrained: () => running.every(({ isDrained }) => isDrained()),
    onDraining: (isDraining) => {
      for (const one of running) one.drain(isDraining)
    },
    onOtherSources: (sources) => {
      for (const one of running) one.setOtherSources(sources)
    },
  })
}

/** The built-in receiver sends nothing, and starts before the stores. */
const WITHOUT_MODE = 'sandbox'

/** A role as part of its node. */
interface RunningPart {
  readonly role: string
  readonly sources: () => readonly string[]
  readonly isDrained: () => boolean
  drain(isDraining: boolean): void
  setOtherSources(sources: readonly (readonly string[])[]): void
  stop(): Promise<void>
}

interface PartStart {
  readonly isDraining: boolean
  /** Null: the process ends. */
  readonly start: () => Promise<Awaited<ReturnType<StartRole>> | null>
  readonly announce: (settings: Announced) => void
}

/** It has leases and a journal, so a drain ends it as the end of the process does. */
const PAUSED_BY_DRAIN = 'outbound'

/** Null: the process ends. */
async function startPart(
  ctx: Context,
  role: string,
  { isDraining, start, announce }: PartStart,
): Promise<RunningPart | null> {
  const isPaused = isDraining && role === PAUSED_BY_DRAIN
  const begun = isPaused ? null : await start()
  if (begun === null && !isPaused) return null
  announce(begun?.announced ?? {})
  if (begun === null || role === PAUSED_BY_DRAIN) return pausablePart(ctx, role, begun, start)
  begun.refuseConnections?.(isDraining)
  return listeningPart(role, begun)
}

function pausablePart(
  ctx: Context,
  role: string,
  first: RunningRole | null,
  start: () => Promise<RunningRole | null>,
): RunningPart {
  let current = first
  const begin = async (): Promise<RunningRole | null> => (current = await start())
  const onError = (error: unknown): void =>
    ctx.log.warn({ err: error, role }, 'the role did not start or stop after a drain; it is repeated')
  const pausable = createPausable(first, { start: begin, onError })
  return {
    role,
    sources: () => (pausable.isStopped ? [] : (current?.sources ?? [])),
    isDrained: () => pausable.isStopped,
    drain: (isDraining) => pausable.setPaused(isDraining),
    setOtherSources: (sources) => current?.setOtherSources?.(sources),
    stop: () => pausable.stop(),
  }
}

/** A role that keeps its ports, because only root may open them again. */
function listeningPart(role: string, begun: RunningRole): RunningPart {
  return {
    role,
    sources: () => [],
    isDrained: () => true,
    drain: (isDraining) => begun.refuseConnections?.(isDraining),
    setOtherSources: () => undefined,
    stop: () => begun.stop(),
  }
}

function openRole(role: string, ctx: Context): Promise<StartRole> {
  const open = ROLES[role]
  if (open === undefined) throw new Error(`no role ${role}`)
  return open(ctx)
}

/** The log message for an error that passes by itself; null for any other error. */
function waitReason(error: unknown): string | null {
  if (isDatabaseAway(error)) return 'PostgreSQL is away; waiting for it'
  return isUnmigrated(error) ? 'the database has another version; waiting for `mailstead migrate`' : null
}

interface AwaitingStores<T> {
  readonly stop: AbortSignal
  readonly begin: () => Promise<T>
}

/** Null some seconds after the stop. A role that starts so late finds the stores closed. */
async function resolveAfterStop(stop: AbortSignal): Promise<null> {
  if (!stop.aborted) await once(stop, 'abort')
  return sleep(STARTING_MS, null, { ref: false })
}

/** Null when `stop` was aborted before `begin` succeeded. */
async function doWhenStoresAreReady<T>(
  ctx: Context,
  role: string,
  { stop, begin }: AwaitingStores<T>,
): Promise<T | null> {
  const backoffs: Partial<Record<string, FailureBackoff>> = {}
  while (!stop.aborted) {
    try {
      return await Promise.race([begin(), resolveAfterStop(stop)])
    } catch (error) {
      const awaited = waitReason(error)
      if (awaited === null) throw error
      const backoff = (backoffs[awaited] ??= createFailureBackoff(ctx.log, {
        message: awaited,
        fields: { role },
        ...RETRIES,
      }))
      await sleep(backoff.failed(error), undefined, { signal: stop }).catch(() => undefined)
    }
  }
  return null
}
