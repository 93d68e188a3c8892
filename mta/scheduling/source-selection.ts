/**
 * Selects the source that a claimed recipient leaves from, before it waits for its turn, and the receiver's throttle
 * for that source. The system chooses the address where there are no sources, to hosts of the transport map, and for
 * connected accounts; that costs nothing.
 *
 * A busy source is waited for: load that a receiver refuses from one address does not move to another. A source that
 * the receiver suspended, by a rule about its replies, is skipped, and the next in the message's own ranking sends
 * it. If no source may send it, it is postponed; if only another process has its sources, it is released to that one.
 */
import { findCancellation } from '#mta/delivery/cancellation.ts'
import type { DeliveryPipeline } from '#mta/delivery/delivery-pipeline.ts'
import type { SelectedSource } from '#mta/delivery/session-grant.ts'
import type { SourceChoice, Egress } from '#mta/egress/source-choice.ts'
import type { Host } from '#mta/route/route.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import type { Throttles } from '#mta/shaping/throttles.ts'
import type { ConnectedAccounts } from '#mta/transport/connected-accounts.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { attemptWithoutSession, type Attempt } from '#src/messages/outcome.ts'
import { accountIdOf } from '#src/providers/account-destination.ts'
import { findReceiver } from '#src/shaping/rule-match.ts'
import type { SiteReceiver } from '#src/shaping/receiver-suspensions.ts'
import { receiverOf } from '#src/suppression/receiver.ts'

/** The destination of a site's mail. */
export interface SiteDestination extends SiteReceiver {
  /** Empty where mail does not go directly to hosts, or they are unknown. */
  readonly hosts: readonly Host[]
  /** The source of all mail to it where the system chooses the address; null: each message has its own source. */
  readonly system: SelectedSource | null
}

export interface SourceSelectionResult {
  readonly selected: SelectedSource
  /** Set when no source may send it now: the attempt that postpones it. */
  readonly attempt: Attempt | null
  /** Another running process has a source of its pool, and this one has none. */
  readonly isElsewhere?: true
}

export interface SourceSelection {
  /** The destination of mail for a domain. Never rejects. */
  destinationOf(domain: string): Promise<SiteDestination>
  /** Chooses the source of a message where `system` is null. */
  choose(destination: SiteDestination, claimed: ClaimedRecipient): Promise<SourceSelectionResult>
  throttleOf(destination: SiteDestination, source: string | null): Throttle
  /** The names of all sources when the receiver suspended each of them; null: at least one may send. */
  allSuspended(destination: SiteDestination): readonly string[] | null
  /** How many sources may be chosen. */
  count(destination: SiteDestination): number
}

export interface SourceSelectionDeps {
  readonly pipeline: Pick<DeliveryPipeline, 'route' | 'sendingDomain' | 'families' | 'now' | 'lifetimeSeconds'>
  readonly egress: Pick<Egress, 'system' | 'hasSources' | 'sources' | 'groups' | 'choose' | 'isUnavailable'>
  readonly throttles: Pick<Throttles, 'shaping' | 'find' | 'suspensions'>
  readonly accounts: Pick<ConnectedAccounts, 'receiver'>
}

export function createSourceSelection(deps: SourceSelectionDeps): SourceSelection {
  const { egress, throttles } = deps
  return {
    destinationOf: (domain) => findDestination(deps, domain),
    throttleOf: (destination, source) => throttles.find(destination, source),
    choose: (destination, claimed) => chooseSource(deps, destination, claimed),
    allSuspended: (destination) => {
      const { sources } = egress
      if (destination.system !== null || sources.length === 0) return null
      return sources.every((source) => throttles.suspensions.findForSource(destination, source) !== null)
        ? sources
        : null
    },
    count: (destination) => (destination.system !== null ? 1 : egress.sources.length),
  }
}

async function findDestination(deps: SourceSelectionDeps, domain: string): Promise<SiteDestination> {
  const { pipeline, egress, throttles, accounts } = deps
  // a connected account is a site of its own
  if (accountIdOf(domain) !== null) {
    const account = { site: domain, receiver: await accounts.receiver(domain) }
    return { ...account, hosts: [], system: systemSource(deps, account) }
  }
  const route = await pipeline.route(domain)
  const hosts = route.kind === 'hosts' ? route.hosts : []
  const site = { site: route.site, receiver: findReceiver(throttles.shaping, { domain, hosts }) }
  const isMapped = hosts.length > 0 && hosts.every((host) => host.isMapped)
  return { ...site, hosts, system: isMapped || !egress.hasSources ? systemSource(deps, site) : null }
}

/** `endpoints`: empty for a recipient that is not to be sent. */
function systemSource(
  { egress, throttles }: SourceSelectionDeps,
  destination: SiteReceiver,
  endpoints = [egress.system],
): SelectedSource {
  const throttle = throttles.find(destination, null)
  return {
    source: null,
    throttle,
    endpoints,
    throttleOf: () => throttle,
    isUsable: () => true,
    finish: () => undefined,
  }
}

async function chooseSource(
  deps: SourceSelectionDeps,
  destination: SiteDestination,
  claimed: ClaimedRecipient,
): Promise<SourceSelectionResult> {
  const { pipeline, egress, throttles } = deps
  const { hosts } = destination
  const domain = await pipeline.sendingDomain(claimed.domainId)
  // this delivery ends without a session: preparation finds the reason
  if (domain.kind !== 'ready' || hosts.length === 0 || findCancellation(claimed, pipeline) !== null)
    return { selected: systemSource(deps, destination, []), attempt: null }
  const group = egress.groups.groupOf(domain.pool)
  if (group !== null && !egress.groups.mayClaim(group))
    return { selected: systemSource(deps, destination, []), attempt: null, isElsewhere: true }
  const choice = await egress.choose({
    messageId: claimed.messageId,
    pool: domain.pool,
    receiver: () => receiverOf(hosts[0]?.name ?? null, claimed.domain),
    reachableFamilies: () => pipeline.families(hosts),
    suspendedUntil: (source) => throttles.suspensions.findForSource(destination, source)?.until.getTime() ?? null,
  })
  if (choice.kind === 'endpoints') return { selected: chosenSource(deps, destination, choice), attempt: null }
  const { detail, untilMs } = choice
  const outcome = { kind: 'postponed', reason: 'no-source', detail, untilMs } as const
  const attempt = attemptWithoutSession(outcome, pipeline.now())
  return { selected: systemSource(deps, destination, []), attempt }
}

function chosenSource(
  { throttles, egress }: SourceSelectionDeps,
  destination: SiteDestination,
  { endpoints, finish }: Extract<SourceChoice, { kind: 'endpoints' }>,
): SelectedSource {
  const source = endpoints[0]?.source ?? null
  return {
    source,
    throttle: throttles.find(destination, source),
    endpoints,
    throttleOf: (other) => throttles.find(destination, other),
    isUsable: () => !egress.isUnavailable(source) && throttles.suspensions.findForSource(destination, source) === null,
    finish,
  }
}
