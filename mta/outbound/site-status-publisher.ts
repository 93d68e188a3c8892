/**
 * Publishes the status of this process's sites, and of domains that it could not try, to Redis
 * (src/queue/site-state.ts), so that `explain` can say what holds a message. Publishes busy sites only, every two
 * seconds, in one pipeline. Redis away: publishes when it is back.
 */
import type { Context } from '#src/context.ts'
import type { Deferral } from '#src/messages/outcome.ts'
import { publishSiteStates, type DomainFailure, type ReportedSite } from '#src/queue/site-state.ts'
import type { CircuitBreaker } from '#mta/transport/circuit-breaker.ts'
import { pathKey } from '#mta/transport/circuit-breaker.ts'

const PUBLISH_INTERVAL_MS = 2000
/** The most deferred domains published at a time; more would be an outage of this process. */
const MAX_DEFERRED_DOMAINS = 1000

export interface SiteStatusDeps {
  /** Names this process. */
  readonly process: () => string
  readonly sites: () => readonly ReportedSite[]
  readonly siteOf: (domain: string) => Promise<string>
  readonly breaker: Pick<CircuitBreaker, 'view'>
}

export interface SiteStatusPublisher {
  /** Mail for this domain by this source is deferred. */
  record(domain: string, deferral: Deferral, source: string | null): void
  stop(): void
}

interface DeferredDomain extends Pick<DomainFailure, 'reason' | 'detail' | 'atMs'> {
  readonly source: string | null
}

export function createSiteStatusPublisher(
  ctx: Pick<Context, 'redis' | 'clock' | 'log'>,
  deps: SiteStatusDeps,
): SiteStatusPublisher {
  let deferredDomains = new Map<string, DeferredDomain>()

  async function publish(): Promise<void> {
    const domains = [...deferredDomains]
    deferredDomains = new Map()
    const failures = new Map<string, DomainFailure>()
    for (const [domain, { source, ...failure }] of domains) {
      const open = deps.breaker.view(pathKey(await deps.siteOf(domain), source))
      failures.set(domain, { ...failure, breakerUntilMs: open?.untilMs ?? null, failures: open?.failures ?? 0 })
    }
    await publishSiteStates(ctx.redis, deps.process(), { sites: deps.sites(), failures, nowMs: ctx.clock.now() })
  }

  const timer = setInterval(() => {
    publish().catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'failed to publish the status of sites; Redis is away'),
    )
  }, PUBLISH_INTERVAL_MS)
  return {
    record: (domain, { reason, detail, isCounted }, source) => {
      if (isCounted || deferredDomains.size >= MAX_DEFERRED_DOMAINS) return
      deferredDomains.set(domain, { reason, detail, atMs: ctx.clock.now(), source })
    },
    stop: () => clearInterval(timer),
  }
}
