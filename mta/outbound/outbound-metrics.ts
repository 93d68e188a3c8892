/**
 * The metrics of the outbound role: outcomes of attempts, time to the receiver's 250, and how busy the process is. A
 * site gets its own series after some attempts, as long as few sites have one; all others count as "other". A series
 * never disappears, so counters only rise.
 */
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { publicNameOf, type Attempt, type Outcome } from '#src/messages/outcome.ts'
import { single, type MetricRegistry, type MetricSeries } from '#src/metrics/registry.ts'
import type { SiteState, ReportedSite } from '#src/queue/site-state.ts'

export interface OutboundLoad {
  readonly sites: () => readonly ReportedSite[]
  readonly unwrittenResults: () => number
  readonly isJournalFailing: () => boolean
}

export interface OutboundMetrics {
  /** An attempt ended at this time (epoch ms); null for a connected account. */
  record(
    claimed: Pick<ClaimedRecipient, 'tier' | 'beganAt'>,
    attempt: Pick<Attempt, 'outcome' | 'durationMs' | 'source' | 'tls'>,
    site: string | null,
    nowMs: number,
  ): void
  /** Ends the series that describe the current load; the counters stay. */
  stop(): void
}

const MAX_NAMED_SITES = 100
const MIN_ATTEMPTS_FOR_NAME = 20
/** Sites counted before they have a series; beyond this the counts restart. */
const MAX_COUNTED_SITES = 10_000

export function createOutboundMetrics(
  registry: MetricRegistry,
  { sites, unwrittenResults, isJournalFailing }: OutboundLoad,
): OutboundMetrics {
  const nameOf = createSiteNames()
  // from the start, so that the first one is an increase
  registry.add('mailstead_dns_failures_total', [], 0)
  registry.add('mailstead_suppressed_recipients_total', ['sending'], 0)
  const endCollection = registry.collect(() => {
    const states = sites().map(({ state }) => state)
    const sum = (of: (state: SiteState) => number): number => states.reduce((total, state) => total + of(state), 0)
    return {
      mailstead_outbound_sessions: single(sum(({ sessions }) => sessions)),
      mailstead_outbound_waiting: single(sum(({ waiting }) => waiting)),
      mailstead_source_sessions: bySource(states, ({ sessions }) => sessions),
      mailstead_source_waiting: bySource(states, ({ waiting }) => waiting),
      mailstead_outbound_sites: single(new Set(sites().map(({ site }) => site)).size),
      mailstead_outbound_unwritten_results: single(unwrittenResults()),
      mailstead_outbound_journal_failing: single(isJournalFailing() ? 1 : 0),
    }
  })
  return {
    stop: endCollection,
    record: ({ tier, beganAt }, { outcome, durationMs, source, tls }, site, nowMs) => {
      const kind = publicNameOf(outcome)
      COUNTERS[outcome.kind]?.(registry, outcome as never, tls)
      registry.add('mailstead_attempts_total', [tier, kind])
      registry.add('mailstead_site_attempts_total', [nameOf(site), kind])
      if (source !== null) registry.add('mailstead_source_attempts_total', [source, kind])
      registry.observe('mailstead_attempt_seconds', [kind], durationMs / 1000)
      if (kind === 'delivered')
        registry.observe('mailstead_delivery_seconds', [tier], Math.max(0, nowMs - beganAt.getTime()) / 1000)
    },
  }
}

type OutcomeOf<K extends Outcome['kind']> = Extract<Outcome, { readonly kind: K }>
type Counter<K extends Outcome['kind']> = (registry: MetricRegistry, outcome: OutcomeOf<K>, tls: string | null) => void

/** `tls` begins with the version; cipher and certificate follow. */
function accepted(registry: MetricRegistry, _outcome: Outcome, tls: string | null): void {
  registry.add('mailstead_deliveries_total', [tls?.split(' ')[0] ?? 'none'])
}

/** What an outcome counts besides the attempt. */
const COUNTERS: { readonly [K in Outcome['kind']]?: Counter<K> } = {
  delivered: accepted,
  relayed: accepted,
  bounced: (registry, { reason, isHard }) =>
    registry.add('mailstead_bounces_total', [reason, isHard ? 'hard' : 'soft', 'smtp']),
  deferred: (registry, { reason }) => {
    registry.add('mailstead_deferrals_total', [reason])
    if (reason === 'dns') registry.add('mailstead_dns_failures_total', [])
  },
  suppressed: (registry) => registry.add('mailstead_suppressed_recipients_total', ['sending']),
}

/** Sums by source; mail whose address the system chooses has no series. */
function bySource(states: readonly SiteState[], of: (state: SiteState) => number): MetricSeries[] {
  const sums = new Map<string, number>()
  for (const state of states)
    if (state.source !== null) sums.set(state.source, (sums.get(state.source) ?? 0) + of(state))
  return [...sums].map(([source, value]) => ({ labels: [source], value }))
}

/** The label under which a site is counted. */
export function createSiteNames(): (site: string | null) => string {
  const named = new Set<string>()
  const counted = new Map<string, number>()
  return (site) => {
    if (site === null) return 'other'
    if (named.has(site)) return site
    if (named.size >= MAX_NAMED_SITES) return 'other'
    const attempts = (counted.get(site) ?? 0) + 1
    if (attempts < MIN_ATTEMPTS_FOR_NAME) {
      if (counted.size >= MAX_COUNTED_SITES) counted.clear()
      counted.set(site, attempts)
      return 'other'
    }
    counted.delete(site)
    named.add(site)
    return site
  }
}
