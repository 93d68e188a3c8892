/**
 * Tells Redis what this process knows of its sites and of domains it could not try (src/queue/site-state.ts), so that `explain` can say
 * what holds a message. Every two seconds, in one pipeline; only what is busy is told. Redis away: told when it is back.
 */
import type { Context } from '#src/context.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { tellSites, type DomainTrouble, type ToldSite } from '#src/queue/site-state.ts'
import type { Breaker } from '#mta/transport/breaker.ts'
import { pathOf } from '#mta/transport/session-pool.ts'

const EVERY_MS = 2000
/** Domains in trouble that are told at once; more would be an outage of our own. */
const MOST_TROUBLES = 1000

export interface ReportParts {
  /** Names this process. */
  readonly process: () => string
  readonly sites: () => readonly ToldSite[]
  readonly siteOf: (domain: string) => Promise<string>
  readonly breaker: Pick<Breaker, 'view'>
}

export interface Report {
  /** An attempt for this domain by this source ended. */
  note(domain: string, attempt: Attempt, source: string | null): void
  stop(): void
}

interface Noted extends Pick<DomainTrouble, 'reason' | 'detail' | 'atMs'> {
  readonly source: string | null
}

export function createReport(ctx: Pick<Context, 'redis' | 'clock' | 'log'>, parts: ReportParts): Report {
  let troubles = new Map<string, Noted>()

  async function tell(): Promise<void> {
    const noted = [...troubles]
    troubles = new Map()
    const told = new Map<string, DomainTrouble>()
    for (const [domain, { source, ...trouble }] of noted) {
      const broken = parts.breaker.view(pathOf(await parts.siteOf(domain), source))
      told.set(domain, { ...trouble, breakerUntilMs: broken?.untilMs ?? null, failures: broken?.failures ?? 0 })
    }
    await tellSites(ctx.redis, parts.process(), { sites: parts.sites(), troubles: told })
  }

  const timer = setInterval(() => {
    tell().catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'what this process does cannot be told; Redis is away'),
    )
  }, EVERY_MS)
  return {
    note: (domain, { outcome }, source) => {
      if (outcome.kind !== 'deferred' || outcome.isCounted || troubles.size >= MOST_TROUBLES) return
      troubles.set(domain, { reason: outcome.reason, detail: outcome.detail, atMs: ctx.clock.now(), source })
    },
    stop: () => clearInterval(timer),
  }
}
