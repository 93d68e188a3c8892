/**
 * Claims for lanes: takes from Redis what is ready where there is room, makes each claim good in PostgreSQL (many sites, one statement),
 * and puts it on the track of the source that it goes by. Nothing waits here without a lease that is held.
 *
 * Redis away: no more is claimed. PostgreSQL away: a claim taken from Redis cannot be made good; it is put back, or found again by the
 * worker. A recipient that PostgreSQL does not give us was settled, or is another's: it is forgotten.
 */
import type { Context } from '#src/context.ts'
import { claimReady, putBackReady, type ReadyEntry } from '#mta/claim/schedule.ts'
import { claimRecipients, type Claimed } from '#src/messages/claim.ts'
import type { Lease } from '#src/queue/lease.ts'
import { parseMember, type Member } from '#src/queue/member.ts'
import type { Holdings } from './holdings.ts'
import type { Lane } from './lane.ts'
import { workspaceStopText, type ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { giveBack, type State, type Wait } from './lane-state.ts'
import type { FoundPassage, Goal } from './passage.ts'
import { settle } from './running.ts'
import { turnText, type Room, type Track } from './track.ts'
import type { Waiting } from './waiting.ts'

const AWAY_MS = 300
/** Mail of a workspace that a receiver has stopped is looked at again after so long, before RETRY_SCALE. */
const STOPPED_MS = 600_000

/** The claims of many lanes, as one statement; undefined for what is not ours to send. */
export async function loadBatch(
  ctx: Context,
  { lease, holdings }: { readonly lease: Lease; readonly holdings: Holdings },
  members: readonly Member[],
): Promise<(Claimed | undefined)[]> {
  const wanted = members.filter((member) => !holdings.isLeaving(member))
  holdings.take(wanted)
  const claimed = await claimRecipients(ctx.db, lease.id, wanted, new Date(ctx.clock.now())).catch((error: unknown) => {
    holdings.drop(wanted)
    holdings.doubt()
    throw error
  })
  const byKey = new Map(claimed.map((one) => [`${one.messageId}:${one.n}`, one]))
  const given = new Map(
    wanted.map((member) => {
      const key = `${member.messageId}:${member.n}`
      const one = byKey.get(key)
      byKey.delete(key) // the same recipient twice in a batch is started once
      return [member, one] as const
    }),
  )
  holdings.drop(wanted.filter((member) => given.get(member) === undefined))
  return members.map((member) => given.get(member))
}

/** Claims for a lane that has room, in the background; one claim at a time for each lane. */
export function fill(state: State, lane: Lane): void {
  if (lane.isClaiming || lane.isDry || state.isStopped || !state.parts.lease.isHeld()) return
  if (state.parts.isBehind()) return void state.starved.add(lane)
  const room = lane.room(performance.now())
  if (room.instant + room.others === 0) return wait(state, lane)
  lane.isClaiming = true
  claim(state, lane, room)
    .catch(async (error: unknown) => {
      state.ctx.log.debug({ err: error, site: lane.site }, 'a claim failed; a store is away')
      await new Promise((resolve) => setTimeout(resolve, AWAY_MS))
    })
    .finally(() => {
      lane.isClaiming = false
      state.pump(lane)
    })
}

/** For a part in the pace; or for the end of a pause, as nothing may happen before that would make it look again. */
function wait(state: State, lane: Lane): void {
  const pauseMs = lane.pausedUntilMs - performance.now()
  if (pauseMs <= 0) return lane.need()
  if (lane.isWaking) return
  lane.isWaking = true
  setTimeout(() => {
    lane.isWaking = false
    fill(state, lane)
  }, pauseMs).unref()
}

async function claim(state: State, lane: Lane, room: Room): Promise<void> {
  const wakes = lane.wakes
  lane.hasInstantNews = false
  const entries = await claimReady(state.ctx.redis, lane.site, room)
  const instants = entries.filter(({ tier }) => tier === 'instant').length
  if (instants === room.instant && instants > 0) lane.hasInstantNews = true
  if (instants < room.instant && entries.length - instants < room.others && lane.wakes === wakes) lane.isDry = true
  if (entries.length === 0) return
  const domain = parseMember(entries[0]?.member ?? '')?.domain
  if (domain === undefined) return
  const goal = await state.parts.passages.goalOf(domain)
  lane.sources = () => state.parts.passages.count(goal)
  if (await mayBegin(state, lane, goal)) return makeGood(state, lane, entries, goal)
  lane.isDry = false
  lane.hasInstantNews ||= entries.some(({ tier }) => tier === 'instant')
  await putBackReady(state.ctx.redis, lane.site, entries)
}

/** False when nothing may begin there now, by any source: it stays ready, and the tracks hear when that is over. */
async function mayBegin({ parts }: State, lane: Lane, goal: Goal): Promise<boolean> {
  const { passages } = parts
  if (passages.isPlain(goal)) {
    const { pace } = lane.trackOf(null, passages.paceBy(goal, null))
    await parts.ready(pace)
    return pace.connections > 0
  }
  const shut = passages.shutSources(goal)
  for (const source of shut ?? []) lane.trackOf(source, passages.paceBy(goal, source))
  return shut === null
}

async function makeGood(state: State, lane: Lane, entries: readonly ReadyEntry[], goal: Goal): Promise<void> {
  const wanted = entries.flatMap((entry) => ({ entry, member: parseMember(entry.member) }))
  const loaded = await Promise.allSettled(
    wanted.map(({ member }) => (member === null ? Promise.resolve(undefined) : state.load(member))),
  )
  const claimed = loaded.flatMap((one) => (one.status === 'fulfilled' && one.value !== undefined ? [one.value] : []))
  // suspended after it became ready: given back, it is kept aside when it is dispatched again
  const unwanted = claimed.filter((one) => state.isStopped || state.parts.isSuspended(one.domain))
  if (unwanted.length > 0) {
    await state.parts.release(unwanted)
    state.holdings.drop(unwanted)
  }
  for (const one of claimed) if (!unwanted.includes(one)) await takeSafely(state, lane, goal, one)
  const surplus = await giveSurplusBack(state, lane)
  if (claimed.length > 0) lane.claimed(claimed.length - surplus, performance.now())
  const failed = wanted.filter((_, i) => loaded[i]?.status === 'rejected').map(({ entry }) => entry)
  if (failed.length === 0) return
  lane.isDry = false
  await putBackReady(state.ctx.redis, lane.site, failed)
  throw new Error(`${failed.length} recipients could not be claimed`)
}

/** PostgreSQL went away between the claim and the choice of a source: it is given back as soon as that can be written. */
async function takeSafely(state: State, lane: Lane, goal: Goal, claimed: Claimed): Promise<void> {
  try {
    await take(state, lane, goal, claimed)
  } catch (error) {
    state.ctx.log.debug({ err: error, id: claimed.messageId }, 'a source could not be chosen; a store is away')
    await state.parts.release([claimed])
    state.holdings.drop([claimed])
  }
}

/** Puts it on the track of its source. What a receiver does not take of its workspace now waits until it does. */
async function take(state: State, lane: Lane, goal: Goal, claimed: Claimed): Promise<void> {
  const { parts, holdings } = state
  const chosen = parts.passages.find(goal, claimed)
  const found: FoundPassage = chosen instanceof Promise ? await chosen : chosen
  if (found.kind === 'stopped') {
    await parts.release([claimed], waitFor(state, found.by))
    return holdings.drop([claimed])
  }
  const waiting: Waiting = { claimed, passage: found.passage, sinceMs: performance.now() }
  if (found.kind === 'held') return void settle(state, waiting, found.attempt)
  const track = lane.trackOf(found.passage.source, found.passage.pace)
  if (!track.pace.isKnown) await parts.ready(track.pace)
  track.push(waiting)
}

/** Not until its end where that is far: it may be resumed before its time. */
function waitFor({ ctx }: State, by: ReceiverSuspension): Wait {
  const soon = ctx.clock.now() + STOPPED_MS * ctx.config.retryScale
  return { until: new Date(Math.min(by.until.getTime(), soon)), reason: workspaceStopText(by) }
}

/** What is too much for the tracks it is on waits for about its turn elsewhere than in this process. Answers how many. */
async function giveSurplusBack(state: State, lane: Lane): Promise<number> {
  const now = state.ctx.clock.now()
  const given = [...lane.tracks.values()].flatMap((track) =>
    [...byTurn(track, now)].map(async ([turnMs, waiting]) => {
      await giveBack(state, waiting, { until: new Date(turnMs), reason: turnText(track) })
      return waiting.length
    }),
  )
  return (await Promise.all(given)).reduce((sum, one) => sum + one, 0)
}

/** In steps of a second, so that they are given back in few batches. */
function byTurn(track: Track, nowMs: number): Map<number, Waiting[]> {
  const turns = new Map<number, Waiting[]>()
  for (const { waiting, turnMs } of track.takeSurplus(nowMs)) {
    const second = Math.ceil(turnMs / 1000) * 1000
    turns.set(second, [...(turns.get(second) ?? []), waiting])
  }
  return turns
}
