/**
 * Which way a claimed recipient goes, before it waits for its turn: the source that its message leaves by, and the pace that the receiver
 * has for it. Without sources, to our own next hops and through connected accounts it is the system's choice, which costs nothing.
 *
 * A source that is only busy is waited for: what a receiver asks of one address is not put on another. One that the receiver has stopped, by
 * a rule about its replies, is passed over, and the next of the message's own order carries it. What no source may carry waits.
 */
import { EVERYWHERE } from '#src/shaping/pace-key.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { accountAt } from '#src/providers/destination.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { Choice, Egress } from '#mta/egress/egress.ts'
import type { Pace } from '#mta/limits/pace.ts'
import type { Pacer, Place } from '#mta/limits/pacer.ts'
import type { Host } from '#mta/route/route.ts'
import type { ConnectedAccounts } from './accounts.ts'
import { isOver } from './deliver.ts'
import type { Stages } from './stages.ts'
import type { Passage } from './waiting.ts'

/** Where the mail of a lane goes. */
export interface Goal extends Place {
  /** Empty where it does not go straight to hosts, or they are not known. */
  readonly hosts: readonly Host[]
  /** By the system's choice of address, whatever sources there are. */
  readonly isBySystem: boolean
}

export type FoundPassage =
  | { readonly kind: 'passage'; readonly passage: Passage }
  /** Its workspace's mail is not taken there now. */
  | { readonly kind: 'stopped'; readonly by: ReceiverSuspension }
  /** No source may carry it now. */
  | { readonly kind: 'held'; readonly attempt: Attempt; readonly passage: Passage }

export interface Passages {
  /** Where mail for a domain goes. Never rejects. */
  goalOf(domain: string): Promise<Goal>
  /** For a recipient that goes there. */
  find(goal: Goal, claimed: Claimed): FoundPassage | Promise<FoundPassage>
  /** By the system's choice of address, all of it. */
  isPlain(goal: Goal): boolean
  paceBy(goal: Goal, source: string | null): Pace
  /** Whatever source its mail would go by, nothing may be sent there now. Then the sources are told; null: it may. */
  shutSources(goal: Goal): readonly string[] | null
  /** How many there are to choose from. */
  count(goal: Goal): number
}

interface Means {
  readonly stages: Pick<Stages, 'route' | 'sendingDomain' | 'families' | 'now' | 'lifetimeSeconds'>
  readonly egress: Egress
  readonly pacer: Pacer
  readonly accounts: Pick<ConnectedAccounts, 'receiver'>
}

const NOTHING = (): undefined => undefined
const ALWAYS = (): boolean => true

export function createPassages(means: Means): Passages {
  const { egress, pacer } = means
  const isPlain = (goal: Goal): boolean => goal.isBySystem || !egress.hasSources
  return {
    goalOf: (domain) => goalOf(means, domain),
    isPlain,
    paceBy: (goal, source) => pacer.find(goal, source),
    find: (goal, claimed) => {
      const stopped = pacer.suspension(goal, EVERYWHERE, claimed.workspaceId)
      if (stopped !== null && stopped.workspaceId !== null) return { kind: 'stopped', by: stopped }
      return isPlain(goal) ? { kind: 'passage', passage: bySystem(means, goal) } : choose(means, goal, claimed)
    },
    shutSources: (goal) => {
      const { sources } = egress
      if (isPlain(goal) || sources.length === 0) return null
      return sources.every((source) => pacer.suspension(goal, source, null) !== null) ? sources : null
    },
    count: (goal) => (isPlain(goal) ? 1 : egress.sources.length),
  }
}

async function goalOf({ stages, pacer, accounts }: Means, domain: string): Promise<Goal> {
  // an account is a site of its own
  if (accountAt(domain) !== null)
    return { site: domain, receiver: await accounts.receiver(domain), hosts: [], isBySystem: true }
  const route = await stages.route(domain)
  const hosts = route.kind === 'hosts' ? route.hosts : []
  const isToOurs = hosts.length > 0 && hosts.every(({ isOurs }) => isOurs)
  return { site: route.site, receiver: pacer.receiverOf({ domain, hosts }), hosts, isBySystem: isToOurs }
}

/** `ways`: none for what is not to be sent. */
function bySystem({ egress, pacer }: Means, goal: Goal, ways = [egress.system]): Passage {
  const pace = pacer.find(goal, null)
  return { source: null, pace, ways, paceBy: () => pace, isOpen: ALWAYS, done: NOTHING }
}

async function choose(means: Means, goal: Goal, claimed: Claimed): Promise<FoundPassage> {
  const { stages, egress, pacer } = means
  const sender = await stages.sendingDomain(claimed.domainId)
  if (sender.kind !== 'ready' || goal.hosts.length === 0 || isOver(claimed, stages))
    return { kind: 'passage', passage: bySystem(means, goal, []) }
  const choice = await egress.choose({
    messageId: claimed.messageId,
    pool: sender.pool,
    receiver: () => receiverOf(goal.hosts[0]?.name ?? null, claimed.domain),
    reaches: () => stages.families(goal.hosts),
    stoppedUntil: (source) => pacer.suspension(goal, source, null)?.until.getTime() ?? null,
  })
  if (choice.kind === 'wait')
    return { kind: 'held', attempt: held(choice, stages.now()), passage: bySystem(means, goal, []) }
  return { kind: 'passage', passage: passageBy(means, goal, choice) }
}

function passageBy({ pacer, egress }: Means, goal: Goal, { ways, done }: Extract<Choice, { kind: 'ways' }>): Passage {
  const source = ways[0]?.source ?? null
  return {
    source,
    pace: pacer.find(goal, source),
    ways,
    paceBy: (other) => pacer.find(goal, other),
    done,
    isOpen: () => !egress.isGone(source) && pacer.suspension(goal, source, null) === null,
  }
}

function held({ detail, untilMs }: { readonly detail: string; readonly untilMs: number }, now: number): Attempt {
  return {
    outcome: { kind: 'held', reason: 'no-source', detail, untilMs },
    startedAt: now,
    durationMs: 0,
    host: null,
    address: null,
    source: null,
    tls: null,
    conversation: `-- ${detail}`,
  }
}
