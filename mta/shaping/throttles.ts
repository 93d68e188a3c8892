/**
 * All paces of this process: finds the one of a site, asks Redis for its parts in batches (never for a single message), tells Redis and
 * PostgreSQL what was learned. What replies do to a pace stands in `reply-effects.ts`.
 *
 * Redis away: each pace goes on with what is surely its own. PostgreSQL away: what was learned stays in Redis and is stored later, and a
 * suspension holds here at once and is stored when it can be. The process dies: what it had booked runs out after a few seconds.
 */
import type { Context } from '#src/context.ts'
import type { Reply } from '#src/mail/reply.ts'
import {
  loadLearned,
  recover,
  storeLearned,
  UNLEARNED,
  type Learned,
  type LearnedRow,
} from '#src/shaping/learned-limits.ts'
import { findReceiver, type RouteNames } from '#src/shaping/rule-match.ts'
import type { Receiver } from '#src/shaping/shaping-file.ts'
import { paceKeyOf, paceSourceOf } from '#src/shaping/throttle-key.ts'
import {
  watchReceiverSuspensions,
  type ReceiverSuspension,
  type ReceiverSuspensionWatch,
} from '#src/shaping/receiver-suspensions.ts'
import { watchShaping, type ShapingWatch } from '#src/shaping/shaping-file-watch.ts'
import { Pace } from './throttle.ts'
import { openNoticeBook } from '#src/operator/notice-buffer.ts'
import { createReplies } from './reply-effects.ts'
import { askShares, sharesKey } from './quota-share.ts'

const BEAT_MS = 1000
/** Between two asks for one pace. */
const GAP_MS = 20
const STORE_MS = 5000

/** Where mail goes. */
export interface Place {
  readonly site: string
  readonly receiver: Receiver
}

export interface Pacer {
  /** Whose limits hold for a route, by the shaping file. */
  receiverOf(names: RouteNames): Receiver
  /** The pace of a site as it is met from a source; null = the system's choice of address. */
  find(place: Place, source: string | null): Pace
  /** Resolves when its part is known, or cannot be known now. */
  ready(pace: Pace): Promise<void>
  /** A message was taken, or answered with this: what the rules say of it is done. `source` is the one that it left by. */
  heard(pace: Pace, reply: Reply | null, workspaceId: string, source: string | null): void
  /** What stops this workspace's mail there by this source, or all mail for null. */
  suspension(place: Place, source: string | null, workspaceId: string | null): ReceiverSuspension | null
  /** Suspensions were changed by another process. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

interface State {
  readonly ctx: Context
  readonly process: string
  readonly paces: Map<string, Pace>
  readonly shaping: ShapingWatch
  readonly suspensions: ReceiverSuspensionWatch
  /** By pace and source: as stored, for paces that are not in use. */
  readonly known: Map<string, LearnedRow>
  readonly changed: Map<string, LearnedRow>
  readonly asking: Set<Pace>
  readonly askedAtMs: WeakMap<Pace, number>
}

/** @throws when PostgreSQL is away at the start, or the shaping file is wrong. */
export async function createPacer(ctx: Context, process: string): Promise<Pacer> {
  const learned = await loadLearned(ctx.db)
  const paces = new Map<string, Pace>()
  const suspensions = await watchReceiverSuspensions(ctx, () => applySuspensions(state))
  const shaping = watchOrStop(suspensions, () => watchShaping(ctx, () => applyFile(state)))
  const state: State = {
    ctx,
    process,
    paces,
    shaping,
    suspensions,
    known: new Map(learned.map((row) => [nameOf(row), row])),
    changed: new Map(),
    asking: new Set(),
    askedAtMs: new WeakMap(),
  }
  const notices = openNoticeBook(ctx)
  const replies = createReplies({
    ctx,
    shaping,
    suspensions,
    notices,
    learn: (pace, found) => learn(state, pace, found),
  })
  const beat = setInterval(() => beatOnce(state), BEAT_MS)
  const store = setInterval(() => void storeChanged(state), STORE_MS)
  return {
    receiverOf: (names) => findReceiver(shaping.current, names),
    find: (place, source) => findPace(state, place, source),
    ready: (pace) => firstShare(state, pace),
    heard: (pace, reply, workspaceId, source) => replies.hear(pace, reply, workspaceId, source ?? pace.source),
    suspension: (place, source, workspaceId) => findSuspension(state, place, source, workspaceId),
    refresh: () => state.suspensions.refresh(),
    stop: async () => {
      clearInterval(beat)
      clearInterval(store)
      await notices.stop()
      state.shaping.stop()
      state.suspensions.stop()
      await Promise.all([storeChanged(state), giveUpShares(state)])
    },
  }
}

/** What was begun is not left behind when the file is wrong. */
function watchOrStop(suspensions: ReceiverSuspensionWatch, watch: () => ShapingWatch): ShapingWatch {
  try {
    return watch()
  } catch (error) {
    suspensions.stop()
    throw error
  }
}

function findPace(state: State, { site, receiver }: Place, bySource: string | null): Pace {
  const [key, source] = [paceKeyOf(receiver, site), paceSourceOf(receiver, bySource)]
  const name = nameOf({ pace: key, source })
  const found = state.paces.get(name)
  if (found !== undefined) {
    if (found.receiver !== receiver) found.setReceiver(receiver)
    return found
  }
  const pace = new Pace(key, source, { receiver, learned: state.known.get(name) ?? UNLEARNED })
  pace.onNeed = () => need(state, pace)
  pace.setSuspended(state.suspensions.find(key, source, null) !== null)
  state.paces.set(name, pace)
  return pace
}

/** Of a receiver that counts all sources together, one may be stopped everywhere all the same. */
function findSuspension(
  { suspensions }: State,
  { site, receiver }: Place,
  source: string | null,
  workspaceId: string | null,
): ReceiverSuspension | null {
  const key = paceKeyOf(receiver, site)
  const found = suspensions.find(key, paceSourceOf(receiver, source), workspaceId)
  return found !== null || source === null || !receiver.isForAllSources ? found : suspensions.find(key, source, null)
}

async function firstShare(state: State, pace: Pace): Promise<void> {
  if (pace.isKnown || pace.isSuspended) return
  await askFor(state, [pace])
}

/** Asks soon, together with all others of this turn of the event loop. */
function need(state: State, pace: Pace): void {
  if (state.asking.has(pace) || pace.isSuspended || pace.isWhole) return
  if (state.asking.size === 0) setImmediate(() => askForNeedy(state))
  state.asking.add(pace)
}

function askForNeedy(state: State): void {
  const now = performance.now()
  const isEarly = (pace: Pace): boolean => now - (state.askedAtMs.get(pace) ?? -Infinity) < GAP_MS
  const [early, due] = [[...state.asking].filter(isEarly), [...state.asking].filter((pace) => !isEarly(pace))]
  for (const pace of due) state.asking.delete(pace)
  if (early.length > 0) setTimeout(() => askForNeedy(state), GAP_MS)
  void askFor(state, due)
}

async function askFor(state: State, paces: readonly Pace[]): Promise<void> {
  const free = paces.filter((pace) => !pace.isAsking)
  if (free.length === 0) return
  const began = performance.now()
  const asks = free.map((pace) => {
    const ask = pace.ask(state.process)
    pace.isAsking = true
    pace.isLearnedHere = false
    state.askedAtMs.set(pace, began)
    return { key: sharesKey(pace.key, pace.source), ask }
  })
  const grants = await askShares(state.ctx.redis, asks)
  for (const [i, pace] of free.entries()) {
    pace.isAsking = false
    const grant = grants[i]
    if (grant == null) {
      pace.isLearnedHere ||= asks[i]?.ask.replaces !== null
      pace.goAlone(performance.now())
      continue
    }
    pace.grant(grant, began)
    note(state, pace)
    if (grant.waitMs > 0) setTimeout(() => need(state, pace), Math.min(grant.waitMs, BEAT_MS)).unref()
  }
}

/** Books again what is in use, gives back what is not, adds what was learned; forgets paces without anybody. */
function beatOnce(state: State): void {
  const {
    ctx: { clock, config },
  } = state
  applySuspensions(state)
  const used: Pace[] = []
  for (const [name, pace] of state.paces) {
    const learned = recover(pace.learned, pace.deliveries, pace.receiver.connections, {
      nowMs: clock.now(),
      scale: config.retryScale,
    })
    pace.deliveries = 0
    if (learned !== pace.learned) learn(state, pace, learned)
    if (pace.isInNeed || pace.isLearnedHere) used.push(pace)
    else if (pace.isIdle) state.paces.delete(name)
  }
  void askFor(state, used)
}

/** A receiver that is not in the file any more keeps its last row until nobody sends there under that name. */
function applyFile({ paces, shaping }: State): void {
  for (const pace of paces.values()) {
    const receiver = shaping.current.receivers.find(({ name }) => name === pace.receiver.name)
    if (receiver !== undefined) pace.setReceiver(receiver)
  }
}

function applySuspensions(state: State): void {
  for (const pace of state.paces.values())
    pace.setSuspended(state.suspensions.find(pace.key, pace.source, null) !== null)
}

/** Told to Redis with the next ask, and stored with the next batch. */
function learn(state: State, pace: Pace, learned: Learned): void {
  pace.learned = learned
  pace.isLearnedHere = true
  note(state, pace)
  need(state, pace)
}

/** To be stored, when it is not what is. */
function note(state: State, pace: Pace): void {
  const row = { pace: pace.key, source: pace.source, ...pace.learned, knownAtMs: state.ctx.clock.now() }
  const name = nameOf(row)
  const before = state.known.get(name)
  if (before?.connections === row.connections || (before === undefined && row.slowedAtMs === 0)) return
  state.known.set(name, row)
  state.changed.set(name, row)
}

async function storeChanged(state: State): Promise<void> {
  const rows = [...state.changed.values()]
  if (rows.length === 0) return
  state.changed.clear()
  await storeLearned(state.ctx.db, rows).catch((error: unknown) => {
    state.ctx.log.debug({ err: error }, 'what was learned could not be stored; tried again')
    for (const row of rows) if (!state.changed.has(nameOf(row))) state.changed.set(nameOf(row), row)
  })
}

function giveUpShares({ ctx, paces, process }: State): Promise<unknown> {
  const giving = [...paces.values()].map((pace) => ctx.redis.hdel(sharesKey(pace.key, pace.source), `p:${process}`))
  return Promise.all(giving).catch(() => undefined)
}

function nameOf({ pace, source }: Pick<LearnedRow, 'pace' | 'source'>): string {
  return `${pace}@${source}`
}
