/**
 * By which of our addresses a message leaves: the best source of its pool that is here, is not paused, is not stopped by the receiver and
 * has something left of its warm-up. The order of the sources is the message's own and the same at every retry (source-ranking.ts). Without a source
 * the system chooses the address, and the name in EHLO is the server's own.
 *
 * It is chosen before the message waits for its turn, for each source has a pace of its own at a receiver. One source of each family is
 * given, the one that the receiver can be reached by first: whether the other is needed is known only when it is tried.
 */
import type { Attempt } from '#src/messages/outcome.ts'
import { NO_SOURCE } from '#src/egress/sources.ts'
import { nextDayMs } from '#src/egress/warm-up.ts'
import { createAllowance, type Allowance, type Ticket } from './warm-up-allowance.ts'
import { isOnHost, type IsOnHost } from './address-check.ts'
import { rankSources } from './source-ranking.ts'
import { openRoster, type Member, type Roster, type RosterContext } from './source-directory.ts'
import { judgeAnswer } from './warm-up-signal.ts'
import type { Way } from './local-endpoint.ts'

export interface Leaving {
  readonly messageId: string
  readonly pool: string
  /** Whose server it is (src/suppression/receiver.ts); asked for a warming source only. */
  readonly receiver: () => string
  /** The families of address that its first server has; asked for where there is a choice. Left out: any. */
  readonly reaches?: () => Promise<ReadonlySet<4 | 6>>
  /** Until when the receiver is left alone by a source (epoch ms); null: it is not. Left out: by none. */
  readonly stoppedUntil?: (source: string) => number | null
}

export type Choice =
  /** The best source of each family, the better first. */
  | { readonly kind: 'ways'; readonly ways: readonly Way[]; readonly done: Done }
  | { readonly kind: 'wait'; readonly detail: string; readonly untilMs: number }

/** Must follow; null: nothing came of it. */
type Done = (attempt: Attempt | null) => void

export interface Egress {
  /** The system's choice of address. */
  readonly system: Way
  /** There are sources in pools; without, the system chooses for all mail. */
  readonly hasSources: boolean
  /** Names of those that may send, in any pool. */
  readonly sources: readonly string[]
  choose(leaving: Leaving): Choice | Promise<Choice>
  /** A connection failed as if the address of a source were not here: looks whether it is so. Such a one is not chosen until it is back. */
  lookAgain(): Promise<void>
  /** A source that may not send any more: its address left this machine, or the operator took it out. */
  isGone(source: string | null): boolean
  /** Calls it for each address that leaves this machine, once it is seen. */
  onGone(act: (address: string) => void): void
  stop(): Promise<void>
}

/** A source may be resumed, be added or come back at any time. */
const NO_SOURCE_MS = 60_000
/** The receiver has stopped them all. */
const STOPPED_MS = 600_000
/** Another process may give back what it does not use, and sources may be added; at the end of the day there is more anyway. */
const WARM_UP_MS = 3_600_000

interface Means {
  readonly ctx: RosterContext
  readonly roster: Roster
  readonly allowance: Allowance
}

/** @throws when PostgreSQL is away. */
export async function startEgress(ctx: RosterContext, isHere: IsOnHost = isOnHost): Promise<Egress> {
  const roster = await openRoster(ctx, isHere)
  const means: Means = { ctx, roster, allowance: createAllowance(ctx) }
  const system: Way = { source: null, address: null, family: null, ehloName: ctx.config.serverName }
  const bySystem: Choice = { kind: 'ways', ways: [system], done: () => undefined }
  return {
    system,
    get hasSources() {
      return roster.hasMembers
    },
    get sources() {
      return roster.usable
    },
    choose: (leaving) => {
      const members = roster.membersOf(leaving.pool)
      return members.length === 0 ? bySystem : chooseAmong(means, members, leaving)
    },
    lookAgain: () => roster.lookForAddresses(),
    isGone: (source) => source !== null && !roster.usable.includes(source),
    onGone: (act) => roster.onGone(act),
    stop: async () => {
      await roster.stop()
      await means.allowance.stop()
    },
  }
}

async function chooseAmong(means: Means, members: readonly Member[], leaving: Leaving): Promise<Choice> {
  const { messageId, receiver, stoppedUntil = () => null } = leaving
  const found: Found[] = []
  const obstacles: Obstacle[] = []
  const whose = members.some(({ isWarming }) => isWarming) ? receiver() : ''
  for (const member of rankSources(messageId, members)) {
    if (found.some(({ way }) => way.family === member.family)) continue
    const stopped = stoppedUntil(member.source)
    const tried = stopped === null ? await tryToPass(means, member, whose) : stoppedThere(stopped)
    if ('why' in tried) obstacles.push({ ...tried, why: `${member.source} ${tried.why}` })
    else found.push(tried)
  }
  if (found.length === 0) return waitFor(means, obstacles, whose)
  const ways = await reachableFirst(
    found.map(({ way }) => way),
    leaving.reaches,
  )
  return { kind: 'ways', ways, done: (attempt) => settle(found, attempt) }
}

async function reachableFirst(ways: readonly Member[], reaches: Leaving['reaches']): Promise<readonly Member[]> {
  if (ways.length < 2 || reaches === undefined) return ways
  const families = await reaches()
  const isReached = ({ family }: Member): boolean => families.has(family)
  return [...ways.filter(isReached), ...ways.filter((way) => !isReached(way))]
}

/** What is in the way of a source. */
interface Obstacle {
  readonly why: string
  readonly isWarming?: boolean
  /** Epoch ms, where it is known. */
  readonly untilMs?: number
}

const IS_WARMING: Obstacle = { why: 'is warming up', isWarming: true }

function stoppedThere(untilMs: number): Obstacle {
  return { why: `leaves this receiver alone until ${new Date(untilMs).toISOString()}`, untilMs }
}

/** A source that may send; with what was taken of its warm-up. */
interface Found {
  readonly way: Member
  readonly ticket: Ticket | null
}

async function tryToPass({ roster, allowance }: Means, way: Member, receiver: string): Promise<Found | Obstacle> {
  if (way.isPaused) return { why: 'is paused' }
  if (roster.isAbsent(way.id)) return { why: 'is not on this machine' }
  if (!way.isWarming) return { way, ticket: null }
  const ticket = await allowance.take(way.id, receiver)
  return ticket === null ? IS_WARMING : { way, ticket }
}

function waitFor({ ctx }: Means, obstacles: readonly Obstacle[], receiver: string): Choice {
  const [now, { retryScale }] = [ctx.clock.now(), ctx.config]
  const detail = `${NO_SOURCE} (${obstacles.map(({ why }) => why).join(', ')})`
  if (!obstacles.some(({ isWarming }) => isWarming))
    return { kind: 'wait', detail, untilMs: lookAgainAt(obstacles, now, retryScale) }
  const nextDay = new Date(nextDayMs(now))
  return {
    kind: 'wait',
    untilMs: Math.min(nextDay.getTime(), now + WARM_UP_MS * retryScale),
    detail: `${detail}: what warming sources may send to ${receiver} today is used up, and there is more from ${nextDay.toISOString()}`,
  }
}

/** Not all at once where all are stopped: one may be resumed before its time. */
function lookAgainAt(obstacles: readonly Obstacle[], now: number, retryScale: number): number {
  const ends = obstacles.map(({ untilMs }) => untilMs ?? now)
  return Math.max(now + NO_SOURCE_MS * retryScale, Math.min(now + STOPPED_MS * retryScale, ...ends))
}

/** What was taken of a warm-up and not used goes back; what the receiver answered is counted. */
function settle(found: readonly Found[], attempt: Attempt | null): void {
  for (const { way, ticket } of found) {
    const answer = attempt === null || attempt.source !== way.source ? null : judgeAnswer(attempt.outcome)
    if (answer === null) ticket?.giveBack()
    else ticket?.used(answer === 'throttled')
  }
}
