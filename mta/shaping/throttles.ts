/**
 * All throttles of this process: finds the throttle of a site, requests shares from Redis in batches (never for a
 * single message), and sends learned limits to Redis and PostgreSQL. `reply-effects.ts` says what replies do to a
 * throttle.
 *
 * Redis away: each throttle goes on with its even part of the limit. PostgreSQL away: learned limits stay in Redis
 * and are stored later; a suspension applies here immediately and is stored later. The process dies: its reserved
 * shares expire after a few seconds.
 */
import type { Context } from '#src/context.ts'
import {
  loadLearnedLimits,
  recover,
  storeLearnedLimits,
  UNLEARNED,
  type LearnedLimit,
  type StoredLimit,
} from '#src/shaping/learned-limits.ts'
import type { Shaping } from '#src/shaping/shaping-file.ts'
import { throttleKeyOf, throttleSourceOf } from '#src/shaping/throttle-key.ts'
import {
  watchReceiverSuspensions,
  type ReceiverSuspensionWatch,
  type SiteReceiver,
} from '#src/shaping/receiver-suspensions.ts'
import { watchShaping, type ShapingWatch } from '#src/shaping/shaping-file-watch.ts'
import { Throttle } from './throttle.ts'
import { createNoticeBuffer } from '#src/operator/notice-buffer.ts'
import { createReplyEffects, type ReplyEffects } from './reply-effects.ts'
import { requestShares, sharesKey } from './quota-share.ts'

/** How often the shares in use are renewed. */
const RENEW_MS = 1000
/** Shortest time between two requests for one throttle. */
const MIN_REQUEST_GAP_MS = 20
const STORE_INTERVAL_MS = 5000

export interface Throttles {
  /** The shaping file in force. */
  readonly shaping: Shaping
  /** The throttle of a site for a source; null: the system chooses the address. */
  find(site: SiteReceiver, source: string | null): Throttle
  /** Resolves when the throttle has its first share, or cannot get one now. */
  awaitShare(throttle: Throttle): Promise<void>
  /** What the reply to a message does to the throttle that it left under. */
  readonly replyEffects: ReplyEffects
  readonly suspensions: Pick<ReceiverSuspensionWatch, 'findForSource' | 'findForWorkspace'>
  /** Loads the suspensions again after another process changed them. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

interface ThrottlesState {
  readonly ctx: Context
  readonly process: string
  readonly throttles: Map<string, Throttle>
  readonly shaping: ShapingWatch
  readonly suspensions: ReceiverSuspensionWatch
  /** The stored limits by throttle, also of throttles that are not in use. */
  readonly stored: Map<string, StoredLimit>
  readonly unstored: Map<string, StoredLimit>
  readonly requesting: Set<Throttle>
  readonly requestedAtMs: WeakMap<Throttle, number>
}

/** @throws when PostgreSQL is away at the start, or the shaping file is wrong. */
export async function startThrottles(ctx: Context, process: string): Promise<Throttles> {
  const learned = await loadLearnedLimits(ctx.db)
  const throttles = new Map<string, Throttle>()
  const suspensions = await watchReceiverSuspensions(ctx, () => applySuspensions(state))
  const shaping = watchOrStop(suspensions, () => watchShaping(ctx, () => applyShapingFile(state)))
  const state: ThrottlesState = {
    ctx,
    process,
    throttles,
    shaping,
    suspensions,
    stored: new Map(learned.map((row) => [nameOf(row), row])),
    unstored: new Map(),
    requesting: new Set(),
    requestedAtMs: new WeakMap(),
  }
  const notices = createNoticeBuffer(ctx)
  const replyEffects = createReplyEffects({
    ctx,
    shaping,
    suspensions,
    notices,
    learn: (throttle, found) => recordLearned(state, throttle, found),
  })
  const renewTimer = setInterval(() => renew(state), RENEW_MS)
  const storeTimer = setInterval(() => void storeChanged(state), STORE_INTERVAL_MS)
  return {
    get shaping() {
      return shaping.current
    },
    find: (site, source) => findThrottle(state, site, source),
    awaitShare: (throttle) => awaitFirstShare(state, throttle),
    replyEffects,
    suspensions,
    refresh: () => state.suspensions.refresh(),
    stop: async () => {
      clearInterval(renewTimer)
      clearInterval(storeTimer)
      await notices.stop()
      state.shaping.stop()
      state.suspensions.stop()
      await Promise.all([storeChanged(state), releaseShares(state)])
    },
  }
}

/** Stops the suspension watch when the shaping file is wrong. */
function watchOrStop(suspensions: ReceiverSuspensionWatch, watch: () => ShapingWatch): ShapingWatch {
  try {
    return watch()
  } catch (error) {
    suspensions.stop()
    throw error
  }
}

function findThrottle(state: ThrottlesState, { site, receiver }: SiteReceiver, localSource: string | null): Throttle {
  const [key, source] = [throttleKeyOf(receiver, site), throttleSourceOf(receiver, localSource)]
  const name = nameOf({ pace: key, source })
  const found = state.throttles.get(name)
  if (found !== undefined) {
    if (found.receiver !== receiver) found.setReceiver(receiver)
    return found
  }
  const throttle = new Throttle(key, source, { receiver, learned: state.stored.get(name) ?? UNLEARNED })
  throttle.onShareNeeded = () => requestSoon(state, throttle)
  throttle.setSuspended(state.suspensions.find(key, source, null) !== null)
  state.throttles.set(name, throttle)
  return throttle
}

async function awaitFirstShare(state: ThrottlesState, throttle: Throttle): Promise<void> {
  if (throttle.hasShare || throttle.isSuspended) return
  await requestSharesFor(state, [throttle])
}

/** Requests a share soon, together with all others of this turn of the event loop. */
function requestSoon(state: ThrottlesState, throttle: Throttle): void {
  if (state.requesting.has(throttle) || throttle.isSuspended || throttle.hasWholeLimit) return
  if (state.requesting.size === 0) setImmediate(() => requestDue(state))
  state.requesting.add(throttle)
}

function requestDue(state: ThrottlesState): void {
  const now = performance.now()
  const isEarly = (throttle: Throttle): boolean =>
    now - (state.requestedAtMs.get(throttle) ?? -Infinity) < MIN_REQUEST_GAP_MS
  const [early, due] = [
    [...state.requesting].filter(isEarly),
    [...state.requesting].filter((throttle) => !isEarly(throttle)),
  ]
  for (const throttle of due) state.requesting.delete(throttle)
  if (early.length > 0) setTimeout(() => requestDue(state), MIN_REQUEST_GAP_MS)
  void requestSharesFor(state, due)
}

async function requestSharesFor(state: ThrottlesState, throttles: readonly Throttle[]): Promise<void> {
  const free = throttles.filter((throttle) => !throttle.isRequesting)
  if (free.length === 0) return
  const requestedAtMs = performance.now()
  const requests = free.map((throttle) => {
    const request = throttle.shareRequest(state.process)
    throttle.isRequesting = true
    throttle.isLearnedHere = false
    state.requestedAtMs.set(throttle, requestedAtMs)
    return { key: sharesKey(throttle.key, throttle.source), request }
  })
  const grants = await requestShares(state.ctx.redis, requests)
  for (const [i, throttle] of free.entries()) {
    throttle.isRequesting = false
    const grant = grants[i]
    if (grant == null) {
      throttle.isLearnedHere ||= requests[i]?.request.replacesVersion !== null
      throttle.fallBackToOwnPart(performance.now())
      continue
    }
    throttle.applyGrant(grant, requestedAtMs)
    markForStore(state, throttle)
    if (grant.waitMs > 0) setTimeout(() => requestSoon(state, throttle), Math.min(grant.waitMs, RENEW_MS)).unref()
  }
}

/** Renews the shares in use, releases the others, recovers the limits; drops throttles without users. */
function renew(state: ThrottlesState): void {
  const {
    ctx: { clock, config },
  } = state
  applySuspensions(state)
  const inUse: Throttle[] = []
  for (const [name, throttle] of state.throttles) {
    const learned = recover(throttle.learned, throttle.acceptedMessages, throttle.receiver.connections, {
      nowMs: clock.now(),
      scale: config.retryScale,
    })
    throttle.acceptedMessages = 0
    if (learned !== throttle.learned) recordLearned(state, throttle, learned)
    if (throttle.needsShare || throttle.isLearnedHere) inUse.push(throttle)
    else if (throttle.isIdle) state.throttles.delete(name)
  }
  void requestSharesFor(state, inUse)
}

/** A receiver that was removed from the file keeps its last rules until no throttle uses it. */
function applyShapingFile({ throttles, shaping }: ThrottlesState): void {
  for (const throttle of throttles.values()) {
    const receiver = shaping.current.receivers.find(({ name }) => name === throttle.receiver.name)
    if (receiver !== undefined) throttle.setReceiver(receiver)
  }
}

function applySuspensions(state: ThrottlesState): void {
  for (const throttle of state.throttles.values())
    throttle.setSuspended(state.suspensions.find(throttle.key, throttle.source, null) !== null)
}

/** A learned limit goes to Redis with the next request, and to PostgreSQL with the next batch. */
function recordLearned(state: ThrottlesState, throttle: Throttle, learned: LearnedLimit): void {
  throttle.learned = learned
  throttle.isLearnedHere = true
  markForStore(state, throttle)
  requestSoon(state, throttle)
}

/** Marks a limit for storing when it differs from the stored one. */
function markForStore(state: ThrottlesState, throttle: Throttle): void {
  const row = { pace: throttle.key, source: throttle.source, ...throttle.learned, knownAtMs: state.ctx.clock.now() }
  const name = nameOf(row)
  const before = state.stored.get(name)
  if (before?.connections === row.connections || (before === undefined && row.reducedAtMs === 0)) return
  state.stored.set(name, row)
  state.unstored.set(name, row)
}

async function storeChanged(state: ThrottlesState): Promise<void> {
  const rows = [...state.unstored.values()]
  if (rows.length === 0) return
  state.unstored.clear()
  await storeLearnedLimits(state.ctx.db, rows).catch((error: unknown) => {
    state.ctx.log.debug({ err: error }, 'failed to store learned limits; retrying')
    for (const row of rows) if (!state.unstored.has(nameOf(row))) state.unstored.set(nameOf(row), row)
  })
}

function releaseShares({ ctx, throttles, process }: ThrottlesState): Promise<unknown> {
  const releases = [...throttles.values()].map((throttle) =>
    ctx.redis.hdel(sharesKey(throttle.key, throttle.source), `p:${process}`),
  )
  return Promise.all(releases).catch(() => undefined)
}

function nameOf({ pace, source }: Pick<StoredLimit, 'pace' | 'source'>): string {
  return `${pace}@${source}`
}
