/**
 * By which of our addresses a message leaves: the best source of its pool that is here, is not paused and has something left of its
 * warm-up. The order of the sources is the message's own and the same at every retry (rank.ts). Without a source the system chooses the
 * address, and the name in EHLO is the server's own.
 *
 * One source of each family is given, for which of them a host can be reached by is known only when it is tried.
 */
import type { Attempt } from '#src/messages/outcome.ts'
import { NO_SOURCE } from '#src/egress/sources.ts'
import { nextDayMs } from '#src/egress/warm-up.ts'
import { createAllowance, type Allowance, type Ticket } from './allowance.ts'
import { isOnHost, type IsOnHost } from './presence.ts'
import { rankSources } from './rank.ts'
import { openRoster, type Member, type Roster, type RosterContext } from './roster.ts'
import { judgeAnswer } from './verdict.ts'
import type { Way } from './way.ts'

export interface Leaving {
  readonly messageId: string
  readonly pool: string
  /** Whose server it is (src/suppression/receiver.ts); asked for a warming source only. */
  readonly receiver: () => string
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
  choose(leaving: Leaving): Choice | Promise<Choice>
  /** A connection failed as if the address of a source were not here: looks whether it is so. Such a one is not chosen until it is back. */
  lookAgain(): Promise<void>
  /** Calls it for each address that leaves this machine, once it is seen. */
  onGone(act: (address: string) => void): void
  stop(): Promise<void>
}

/** A source may be resumed, be added or come back at any time. */
const NO_SOURCE_MS = 60_000
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
    choose: (leaving) => {
      const members = roster.membersOf(leaving.pool)
      return members.length === 0 ? bySystem : chooseAmong(means, members, leaving)
    },
    lookAgain: () => roster.lookForAddresses(),
    onGone: (act) => roster.onGone(act),
    stop: async () => {
      await roster.stop()
      await means.allowance.stop()
    },
  }
}

async function chooseAmong(means: Means, members: readonly Member[], { messageId, receiver }: Leaving): Promise<Choice> {
  const found: Passage[] = []
  const obstacles: string[] = []
  const whose = members.some(({ isWarming }) => isWarming) ? receiver() : ''
  for (const member of rankSources(messageId, members)) {
    if (found.some(({ way }) => way.family === member.family)) continue
    const passage = await tryToPass(means, member, whose)
    if (typeof passage === 'string') obstacles.push(`${member.source} ${passage}`)
    else found.push(passage)
  }
  if (found.length === 0) return waitFor(means, obstacles, whose)
  return { kind: 'ways', ways: found.map(({ way }) => way), done: (attempt) => settle(found, attempt) }
}

const IS_WARMING = 'is warming up'

/** A source that may send; with what was taken of its warm-up. */
interface Passage {
  readonly way: Member
  readonly ticket: Ticket | null
}

/** Or what is in the way. */
async function tryToPass({ roster, allowance }: Means, way: Member, receiver: string): Promise<Passage | string> {
  if (way.isPaused) return 'is paused'
  if (roster.isAbsent(way.id)) return 'is not on this machine'
  if (!way.isWarming) return { way, ticket: null }
  const ticket = await allowance.take(way.id, receiver)
  return ticket === null ? IS_WARMING : { way, ticket }
}

function waitFor({ ctx }: Means, obstacles: readonly string[], receiver: string): Choice {
  const [now, { retryScale }] = [ctx.clock.now(), ctx.config]
  const detail = `${NO_SOURCE} (${obstacles.join(', ')})`
  if (!obstacles.some((one) => one.endsWith(IS_WARMING))) return { kind: 'wait', detail, untilMs: now + NO_SOURCE_MS * retryScale }
  const nextDay = new Date(nextDayMs(now))
  return {
    kind: 'wait', untilMs: Math.min(nextDay.getTime(), now + WARM_UP_MS * retryScale),
    detail: `${detail}: what warming sources may send to ${receiver} today is used up, and there is more from ${nextDay.toISOString()}`,
  }
}

/** What was taken of a warm-up and not used goes back; what the receiver answered is counted. */
function settle(found: readonly Passage[], attempt: Attempt | null): void {
  for (const { way, ticket } of found) {
    const answer = attempt === null || attempt.source !== way.source ? null : judgeAnswer(attempt.outcome)
    if (answer === null) ticket?.giveBack()
    else ticket?.used(answer === 'throttled')
  }
}
