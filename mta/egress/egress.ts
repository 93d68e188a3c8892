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
import { createAllowance, type Allowance } from './allowance.ts'
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
  const ways: Member[] = []
  const obstacles: Obstacle[] = []
  const whose = members.some(({ isWarming }) => isWarming) ? receiver() : ''
  for (const member of rankSources(messageId, members)) {
    if (ways.some(({ family }) => family === member.family)) continue
    const obstacle = await findObstacle(means, member, whose)
    if (obstacle === null) ways.push(member)
    else obstacles.push({ source: member.source, obstacle })
  }
  if (ways.length === 0) return waitFor(means, obstacles, whose)
  return { kind: 'ways', ways, done: (attempt) => settle(means, ways, whose, attempt) }
}

interface Obstacle {
  readonly source: string
  readonly obstacle: 'is paused' | 'is not on this machine' | 'is warming up'
}

/** Null when it may send; something is taken of its warm-up then. */
async function findObstacle({ roster, allowance }: Means, { id, isPaused, isWarming }: Member, receiver: string): Promise<Obstacle['obstacle'] | null> {
  if (isPaused) return 'is paused'
  if (roster.isAbsent(id)) return 'is not on this machine'
  if (isWarming && !await allowance.take(id, receiver)) return 'is warming up'
  return null
}

function waitFor({ ctx }: Means, obstacles: readonly Obstacle[], receiver: string): Choice {
  const now = ctx.clock.now()
  const isWarmUp = obstacles.some(({ obstacle }) => obstacle === 'is warming up')
  const untilMs = isWarmUp ? Math.min(nextDayMs(now), now + WARM_UP_MS * ctx.config.retryScale) : now + NO_SOURCE_MS * ctx.config.retryScale
  const said = obstacles.map(({ source, obstacle }) => `${source} ${obstacle}`).join(', ')
  const more = isWarmUp ? `: what warming sources may send to ${receiver} today is used up, and there is more from ${new Date(nextDayMs(now)).toISOString()}` : ''
  return { kind: 'wait', detail: `${NO_SOURCE} (${said})${more}`, untilMs }
}

/** What was taken of a warm-up and not used goes back; what the receiver answered is counted. */
function settle({ allowance }: Means, ways: readonly Member[], receiver: string, attempt: Attempt | null): void {
  for (const { id, source, isWarming } of ways) {
    const answer = attempt === null || attempt.source !== source ? null : judgeAnswer(attempt.outcome)
    if (!isWarming) continue
    if (answer === null) allowance.restore(id, receiver)
    else allowance.count(id, receiver, answer === 'throttled')
  }
}
