/**
 * Selects the source that a claimed recipient leaves by, before it waits for its turn, and the receiver's throttle for that source. Without
 * sources, to the operator's own next hops and through connected accounts, the system chooses the address, which costs nothing.
 *
 * A source that is only busy is waited for: the load that a receiver refuses from one address is not moved to another. A source that the
 * receiver suspended, by a rule about its replies, is skipped, and the next in the message's own order carries it. What no source may carry
 * is postponed.
 */
import { findCancellation } from '#mta/delivery/cancellation.ts'
import type { DeliveryPipeline } from '#mta/delivery/delivery-pipeline.ts'
import type { SelectedSource } from '#mta/delivery/session-grant.ts'
import type { Choice, Egress } from '#mta/egress/source-choice.ts'
import type { Host } from '#mta/route/route.ts'
import type { Pace } from '#mta/shaping/throttle.ts'
import type { Pacer, Place } from '#mta/shaping/throttles.ts'
import type { ConnectedAccounts } from '#mta/transport/connected-accounts.ts'
import type { Claimed } from '#src/messages/claim.ts'
import { attemptWithoutSession, type Attempt } from '#src/messages/outcome.ts'
import { accountAt } from '#src/providers/account-destination.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { EVERYWHERE } from '#src/shaping/throttle-key.ts'
import { receiverOf } from '#src/suppression/receiver.ts'

/** Where the mail of a site goes. */
export interface Destination extends Place {
  /** Empty where mail does not go straight to hosts, or they are not known. */
  readonly hosts: readonly Host[]
  /** The system chooses the address, whatever sources there are. */
  readonly isOurs: boolean
}

export type Selection =
  | { readonly kind: 'selected'; readonly selected: SelectedSource }
  /** The receiver suspended the workspace. */
  | { readonly kind: 'suspended'; readonly by: ReceiverSuspension }
  /** No source may carry it now. */
  | { readonly kind: 'postponed'; readonly attempt: Attempt; readonly selected: SelectedSource }

export interface SourceSelection {
  /** Where mail for a domain goes. Never rejects. */
  destinationOf(domain: string): Promise<Destination>
  select(destination: Destination, claimed: Claimed): Selection | Promise<Selection>
  /** The system chooses the address of all mail to it. */
  isBySystem(destination: Destination): boolean
  throttleOf(destination: Destination, source: string | null): Pace
  /** The names of all sources when the receiver suspended each of them; null: at least one may send. */
  allSuspended(destination: Destination): readonly string[] | null
  /** How many sources there are to choose from. */
  count(destination: Destination): number
}

export interface SourceSelectionDeps {
  readonly pipeline: Pick<DeliveryPipeline, 'route' | 'sendingDomain' | 'families' | 'now' | 'lifetimeSeconds'>
  readonly egress: Pick<Egress, 'system' | 'hasSources' | 'sources' | 'choose' | 'isGone'>
  readonly throttles: Pick<Pacer, 'receiverOf' | 'find' | 'suspension'>
  readonly accounts: Pick<ConnectedAccounts, 'receiver'>
}

export function createSourceSelection(deps: SourceSelectionDeps): SourceSelection {
  const { egress, throttles } = deps
  const isBySystem = (destination: Destination): boolean => destination.isOurs || !egress.hasSources
  return {
    destinationOf: (domain) => findDestination(deps, domain),
    isBySystem,
    throttleOf: (destination, source) => throttles.find(destination, source),
    select: (destination, claimed) => {
      const suspension = throttles.suspension(destination, EVERYWHERE, claimed.workspaceId)
      if (suspension !== null && suspension.workspaceId !== null) return { kind: 'suspended', by: suspension }
      if (isBySystem(destination)) return { kind: 'selected', selected: systemSource(deps, destination) }
      return chooseSource(deps, destination, claimed)
    },
    allSuspended: (destination) => {
      const { sources } = egress
      if (isBySystem(destination) || sources.length === 0) return null
      return sources.every((source) => throttles.suspension(destination, source, null) !== null) ? sources : null
    },
    count: (destination) => (isBySystem(destination) ? 1 : egress.sources.length),
  }
}

async function findDestination(
  { pipeline, throttles, accounts }: SourceSelectionDeps,
  domain: string,
): Promise<Destination> {
  // a connected account is a site of its own
  if (accountAt(domain) !== null)
    return { site: domain, receiver: await accounts.receiver(domain), hosts: [], isOurs: true }
  const route = await pipeline.route(domain)
  const hosts = route.kind === 'hosts' ? route.hosts : []
  const isOurs = hosts.length > 0 && hosts.every((host) => host.isOurs)
  return { site: route.site, receiver: throttles.receiverOf({ domain, hosts }), hosts, isOurs }
}

/** `endpoints`: none for what is not to be sent. */
function systemSource(
  { egress, throttles }: SourceSelectionDeps,
  destination: Destination,
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

async function chooseSource(deps: SourceSelectionDeps, destination: Destination, claimed: Claimed): Promise<Selection> {
  const { pipeline, egress, throttles } = deps
  const { hosts } = destination
  const domain = await pipeline.sendingDomain(claimed.domainId)
  // it ends without a session: preparation says why
  if (domain.kind !== 'ready' || hosts.length === 0 || findCancellation(claimed, pipeline) !== null)
    return { kind: 'selected', selected: systemSource(deps, destination, []) }
  const choice = await egress.choose({
    messageId: claimed.messageId,
    pool: domain.pool,
    receiver: () => receiverOf(hosts[0]?.name ?? null, claimed.domain),
    reaches: () => pipeline.families(hosts),
    stoppedUntil: (source) => throttles.suspension(destination, source, null)?.until.getTime() ?? null,
  })
  if (choice.kind === 'ways') return { kind: 'selected', selected: chosenSource(deps, destination, choice) }
  const { detail, untilMs } = choice
  const outcome = { kind: 'postponed', reason: 'no-source', detail, untilMs } as const
  return {
    kind: 'postponed',
    attempt: attemptWithoutSession(outcome, pipeline.now()),
    selected: systemSource(deps, destination, []),
  }
}

function chosenSource(
  { throttles, egress }: SourceSelectionDeps,
  destination: Destination,
  { ways, done }: Extract<Choice, { kind: 'ways' }>,
): SelectedSource {
  const source = ways[0]?.source ?? null
  return {
    source,
    throttle: throttles.find(destination, source),
    endpoints: ways,
    throttleOf: (other) => throttles.find(destination, other),
    isUsable: () => !egress.isGone(source) && throttles.suspension(destination, source, null) === null,
    finish: done,
  }
}
