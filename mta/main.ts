/**
 * The mail transfer process, by roles: `outbound` sends, `inbound` receives bounces and complaints, `submission`
 * accepts mail by SMTP, and `sandbox` is the built-in receiver of a system without a public name. It waits at the
 * start while a store is away or the database is not migrated. Roles stop in the reverse order of their start.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '#config/load.ts'
import { beginShutdown } from '#src/concurrency/shutdown.ts'
import { openContext, type Context } from '#src/context.ts'
import { KEY_ROLES } from '#src/crypto/purposes.ts'
import { isDatabaseAway, isUnmigrated } from '#src/stores/db.ts'
import { startProcessMetrics } from '#src/metrics/process-metrics.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import { startOutbound } from '#mta/outbound/outbound.ts'

interface RunningRole {
  stop(): Promise<void>
}

export interface MtaOptions {
  readonly stop?: AbortSignal
  /** The built-in receiver uses other ports if those of the settings are in use. */
  readonly anyPort?: boolean
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
}

type StartRole = (ctx: Context, deps: RoleDeps) => Promise<RunningRole & { readonly announced?: Announced }>

const ROLES: Readonly<Record<string, StartRole>> = {
  outbound: (ctx, { redisUrl, metrics }) => startOutbound(ctx, redisUrl, metrics),
  // loaded only where they run: a process that sends needs no parser, certificate or receiver
  inbound: async (ctx, { metrics }) => (await import('#mta/inbound/inbound.ts')).startInbound(ctx, metrics),
  submission: async (ctx, { metrics }) => (await import('#mta/submission/submission.ts')).startSubmission(ctx, metrics),
  sandbox: async (ctx, options) => {
    const sandbox = await (await import('#mta/sandbox/sandbox.ts')).startSandbox(ctx, options)
    const announced = { SANDBOX_DNS_PORT: String(sandbox.dnsPort), SANDBOX_SMTP_PORT: String(sandbox.smtpPort) }
    return { stop: () => sandbox.stop(), announced }
  },
}

/** The names that `--roles` accepts; the default is `outbound`. */
export const ROLE_NAMES = Object.keys(ROLES)

const RETRY_MS = 500
/** Orchestrators wait 30 s before they kill a process; the stores are closed after this. */
const MAX_STOP_MS = 27_000
const LAST_STEP_MS = 500
/** How long a stop waits for a role that is starting, perhaps with a store that hangs. */
const STARTING_MS = 5000

/** Starts no further role once `stop` is aborted. @throws for an unknown role, or settings without stores. */
export async function main(
  config: Config,
  roles: readonly string[] = ['outbound'],
  { stop = new AbortController().signal, anyPort = false }: MtaOptions = {},
): Promise<MtaProcess> {
  const unknown = roles.filter((role) => !(role in ROLES))
  if (unknown.length > 0) throw new Error(`no role ${unknown.join(', ')}; the roles are ${ROLE_NAMES.join(', ')}`)
  const { ctx, redisUrl, close } = openContext(config, 'mta', {
    keysFor: KEY_ROLES.filter((role) => roles.includes(role)),
  })
  const metrics = startProcessMetrics(ctx, roles.join('+'))
  const running: (RunningRole & { readonly role: string })[] = []
  const announced: Record<string, string> = {}
  const begin: RoleStart['begin'] = (start) => start(ctx, { redisUrl, metrics, anyPort })
  const stopAll = async (): Promise<void> => {
    const shutdown = beginShutdown(ctx.log, MAX_STOP_MS)
    for (const one of running.toReversed()) await shutdown.step(one.role, () => one.stop())
    await shutdown.step('metrics', () => metrics.stop(), LAST_STEP_MS)
    await shutdown.step('stores', close)
    ctx.log.info('stopped')
  }
  try {
    for (const role of roles) {
      const begun = await startWhenStoresAreReady(ctx, role, { stop, begin })
      if (begun === null) continue
      running.push({ role, stop: () => begun.stop() })
      Object.assign(announced, begun.announced)
    }
  } catch (error) {
    // stops the started roles in order, so that conversations end properly
    await stopAll()
    throw error
  }
  if (!stop.aborted) ctx.log.info({ roles }, 'started')
  return { stop: stopAll, announced }
}

/** The log message for an error that passes by itself; null for any other error. */
function waitReason(error: unknown): string | null {
  if (isDatabaseAway(error)) return 'PostgreSQL is away; waiting for it'
  return isUnmigrated(error) ? 'the database has another version; waiting for `mailstead migrate`' : null
}

interface RoleStart {
  readonly stop: AbortSignal
  readonly begin: (start: StartRole) => ReturnType<StartRole>
}

/** Null some seconds after the stop. A role that starts so late finds the stores closed. */
async function resolveAfterStop(stop: AbortSignal): Promise<null> {
  if (!stop.aborted) await once(stop, 'abort')
  return sleep(STARTING_MS, null, { ref: false })
}

/** Null when `stop` was aborted before the role could start. */
async function startWhenStoresAreReady(
  ctx: Context,
  role: string,
  { stop, begin }: RoleStart,
): Promise<Awaited<ReturnType<StartRole>> | null> {
  while (!stop.aborted) {
    try {
      const start = ROLES[role]
      if (start === undefined) throw new Error(`no role ${role}`)
      return await Promise.race([begin(start), resolveAfterStop(stop)])
    } catch (error) {
      const awaited = waitReason(error)
      if (awaited === null) throw error
      ctx.log.warn({ err: error, role }, awaited)
      await sleep(RETRY_MS, undefined, { signal: stop }).catch(() => undefined)
    }
  }
  return null
}
