/**
 * Tells Redis what this process knows of its sites and of domains it could not try (src/queue/site-state.ts), so that `explain` can say
 * what holds a message. Every two seconds, in one pipeline; only what is busy is told. Redis away: told when it is back.
 */
import type { Context } from '#src/context.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { publishSiteStates, type DomainFailure, type ReportedSite } from '#src/queue/site-state.ts'
import type { CircuitBreaker } from '#mta/transport/circuit-breaker.ts'
import { pathKey } from '#mta/transport/session-pool.ts'

const PUBLISH_INTERVAL_MS = 2000
/** Domains in trouble that are told at once; more would be an outage of our own. */
const MAX_DEFERRED_DOMAINS = 1000

export interface SiteStatusDeps {
  /** Names this process. */
  readonly process: () => string
  readonly sites: () => readonly ReportedSite[]
  readonly siteOf: (domain: string) => Promise<string>
  readonly breaker: Pick<CircuitBreaker, 'view'>
}

export interface SiteStatusPublisher {
  /** An attempt for this domain by this source ended. */
  record(domain: string, attempt: Attempt, source: string | null): void
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
    const noted = [...deferredDomains]
    deferredDomains = new Map()
    const told = new Map<string, DomainFailure>()
    for (const [domain, { source, ...trouble }] of noted) {
      const broken = deps.breaker.view(pathKey(await deps.siteOf(domain), source))
      told.set(domain, { ...trouble, breakerUntilMs: broken?.untilMs ?? null, failures: broken?.failures ?? 0 })
    }
    await publishSiteStates(ctx.redis, deps.process(), { sites: deps.sites(), troubles: told })
  }

  const timer = setInterval(() => {
    publish().catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'what this process does cannot be told; Redis is away'),
    )
  }, PUBLISH_INTERVAL_MS)
  return {
    record: (domain, { outcome }, source) => {
      if (outcome.kind !== 'deferred' || outcome.isCounted || deferredDomains.size >= MAX_DEFERRED_DOMAINS) return
      deferredDomains.set(domain, { reason: outcome.reason, detail: outcome.detail, atMs: ctx.clock.now(), source })
    },
    stop: () => clearInterval(timer),
  }
}
