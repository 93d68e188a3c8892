/**
 * All lanes of this process, put together: what is ready at a site is claimed (claiming.ts), what may begin is begun (running.ts) with a
 * session of those that all sites share (sharing.ts). Nothing starts without a lease that is held.
 *
 * Redis away: what is held goes on, no more is claimed. Told to stop: nothing more begins, and what waits for its turn is given back at
 * once; what is under way may end.
 */
import { createBatcher } from '#src/batcher.ts'
import type { Context } from '#src/context.ts'
import { forgetSite, listSites } from '#mta/claim/schedule.ts'
import type { Claimed } from '#src/messages/claim.ts'
import { isSuspendedSite } from '#src/queue/keys.ts'
import type { Member } from '#src/queue/member.ts'
import { nameOf, type ToldSite } from '#src/queue/site-state.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { fill, loadBatch } from './claiming.ts'
import { Holdings } from './holdings.ts'
import { Lane } from './lane.ts'
import { giveBack, isOurs, type LaneParts, type State } from './lane-state.ts'
import { begin } from './running.ts'
import { hasSession } from './sharing.ts'
import { SOON_MS, turnText, type Track } from './track.ts'

const CLAIM_BATCH = 250
const CLAIM_LANES = 2
const SCAN_MS = 5000
const FORGET_MS = 10_000
/** Of those that wait at a site, named to others. */
const MOST_NAMED = 50

export interface Lanes {
  wake(site: string, hasInstant: boolean): void
  readonly active: number
  readonly held: number
  /** Sites with something to do, by source. */
  view(): readonly ToldSite[]
  /** Claims no more, waits for what is under way up to `graceMs`, gives the rest back. */
  stop(graceMs: number): Promise<void>
}

export function createLanes(ctx: Context, parts: LaneParts): Lanes {
  const holdings = new Holdings()
  const load = (members: Member[]): Promise<(Claimed | undefined)[]> =>
    loadBatch(ctx, { lease: parts.lease, holdings }, members)
  const loader = createBatcher(load, { max: CLAIM_BATCH, lanes: CLAIM_LANES })
  const state: State = {
    ctx,
    parts,
    lanes: new Map(),
    load: (member) => loader.add(member),
    holdings,
    active: 0,
    settling: 0,
    isStopped: false,
    starved: new Set(),
    pump: (lane) => pump(state, lane),
  }
  const scan = setInterval(() => void scanSites(state), SCAN_MS)
  void scanSites(state)
  return {
    wake: (site, hasInstant) => wake(state, site, hasInstant),
    get active() {
      return state.active
    },
    get held() {
      return [...state.lanes.values()].reduce((sum, lane) => sum + lane.held, 0)
    },
    view: () => viewAll(state),
    stop: (graceMs) => {
      clearInterval(scan)
      return stop(state, graceMs)
    },
  }
}

function viewAll(state: State): readonly ToldSite[] {
  return [...state.lanes.values()].flatMap((lane) =>
    [...lane.tracks.values()]
      .filter(isWorthTelling)
      .map((track) => ({ site: lane.site, state: viewOf(state, lane, track) })),
  )
}

function isWorthTelling(track: Track): boolean {
  return !track.isIdle || track.pace.isSuspended
}

function viewOf(state: State, lane: Lane, track: Track): ToldSite['state'] {
  const { sessions, waiting, pace } = track
  const isFull = (tier: Tier): boolean => !pace.isSuspended && (pace.isFull(tier) || !hasSession(state, lane, track))
  return {
    sessions,
    connections: pace.limit,
    isFull: { instant: isFull('instant'), others: isFull('bulk') },
    rule: pace.receiver.title,
    pace: pace.key,
    paceSource: pace.source,
    source: track.source,
    waiting: waiting.length,
    waitingNames: waiting.slice(0, MOST_NAMED).map(({ claimed }) => nameOf(claimed)),
  }
}

function wake(state: State, site: string, hasInstant: boolean): void {
  if (isSuspendedSite(site)) return
  const lane = state.lanes.get(site) ?? openLane(state, site)
  lane.wakes++
  lane.isDry = false
  lane.usedAtMs = state.ctx.clock.now()
  if (hasInstant) lane.hasInstantNews = true
  fill(state, lane)
}

function openLane(state: State, site: string): Lane {
  const lane = new Lane(site)
  lane.onChange = (track) => react(state, lane, track)
  state.lanes.set(site, lane)
  return lane
}

/**
 * Its part in the pace is another now. What is held for nothing goes back: at once where another source may send it, in a moment where
 * another process has the part of this one.
 */
function react(state: State, lane: Lane, track: Track): void {
  if (track.pace.connections !== 0) return pump(state, lane)
  const held = track.empty()
  if (held.length === 0) return
  const isElsewhere = track.source !== null && !track.pace.isSuspended
  const wait = isElsewhere ? { until: new Date(state.ctx.clock.now() + SOON_MS), reason: turnText(track) } : undefined
  giveBack(state, held, wait).catch((error: unknown) =>
    state.ctx.log.error({ err: error }, 'held mail could not be given back'),
  )
}

/** Starts what may start, then sees whether to claim more. */
function pump(state: State, lane: Lane): void {
  for (const track of lane.tracks.values()) start(state, lane, track)
  fill(state, lane)
}

function start(state: State, lane: Lane, track: Track): void {
  while (!state.isStopped && state.parts.lease.isHeld()) {
    if (!hasSession(state, lane, track)) return void state.starved.add(lane)
    const waiting = track.next()
    if (waiting === undefined) return
    if (isOurs(state, waiting.claimed)) void begin(state, lane, track, waiting)
    else {
      waiting.passage.done(null)
      state.holdings.drop([waiting.claimed])
    }
  }
}

/** Finds sites that another process filled and died, or whose wake-up was lost; forgets those that stay empty. */
async function scanSites(state: State): Promise<void> {
  void lookForForgotten(state)
  try {
    for (const site of await listSites(state.ctx.redis))
      if (state.lanes.get(site)?.isDry !== false) wakeQuietly(state, site)
    for (const lane of state.lanes.values()) {
      const longAgo = state.ctx.clock.now() - FORGET_MS
      lane.forget(longAgo)
      if (!lane.isIdle || lane.usedAtMs > longAgo) pump(state, lane)
      else await forgetLane(state, lane)
    }
  } catch (error) {
    state.ctx.log.debug({ err: error }, 'sites cannot be listed; Redis is away')
  }
}

async function lookForForgotten({ holdings, parts, ctx }: State): Promise<void> {
  if (!holdings.isInDoubt) return
  await holdings
    .look(ctx.db, parts.lease.id, async (forgotten) => {
      ctx.log.warn({ count: forgotten.length }, 'claims whose answer was lost are given back')
      await parts.release(forgotten)
    })
    .catch((error: unknown) => ctx.log.debug({ err: error }, 'PostgreSQL cannot be asked for what we hold'))
}

function wakeQuietly(state: State, site: string): void {
  const known = state.lanes.get(site)
  const usedAtMs = known?.usedAtMs ?? state.ctx.clock.now()
  wake(state, site, true)
  const lane = state.lanes.get(site)
  if (lane !== undefined) lane.usedAtMs = usedAtMs
}

async function forgetLane(state: State, lane: Lane): Promise<void> {
  for (const track of lane.tracks.values()) track.close()
  state.lanes.delete(lane.site)
  await forgetSite(state.ctx.redis, lane.site)
}

async function stop(state: State, graceMs: number): Promise<void> {
  state.isStopped = true
  const until = performance.now() + graceMs
  const lanes = [...state.lanes.values()]
  for (const lane of lanes) for (const track of lane.tracks.values()) track.pace.shut()
  const held = lanes.flatMap((lane) => lane.empty())
  if (held.length > 0) await giveBack(state, held)
  while ((state.active + state.settling > 0 || lanes.some((lane) => lane.isClaiming)) && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20))
}
