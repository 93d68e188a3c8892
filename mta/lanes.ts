/**
 * All lanes of this process: claims from Redis where a site has room, makes each claim good in PostgreSQL (many sites, one statement),
 * and starts deliveries. Nothing starts without a lease that is held.
 *
 * Redis away: what is held goes on, no more is claimed. PostgreSQL away: a claim taken from Redis cannot be made good; it is put back,
 * or found again by the worker. A recipient that PostgreSQL does not give us was settled, or is another's: it is forgotten.
 */
import { createBatcher } from '#src/batcher.ts'
import type { Context } from '#src/context.ts'
import { claimReady, forgetSite, listSites, putBackReady, type ReadyEntry } from '#mta/claim/schedule.ts'
import type { Pace } from '#mta/limits/pace.ts'
import { claimRecipients, type Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Lease } from '#src/queue/lease.ts'
import { isSuspendedSite } from '#src/queue/keys.ts'
import { parseMember, type Member } from '#src/queue/member.ts'
import { nameOf, type SiteState } from '#src/queue/site-state.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { Holdings, type Held } from './holdings.ts'
import { Lane, type Gate } from './lane.ts'

const CLAIM_BATCH = 250
const CLAIM_LANES = 2
const AWAY_MS = 300
const SCAN_MS = 5000
const FORGET_MS = 10_000
/** Of those that wait at a site, named to others. */
const MOST_NAMED = 50
/** A delivery that fails after so long says that the site hangs. */
const SLOW_MS = 20_000
/** Of the sessions that are free, the part that one site may take. */
const FREE_SHARE = 0.25
/** Of all sessions: while so many are free nobody must prove anything. */
const AMPLE_SHARE = 0.8
/** Lanes that are looked at when one session comes free. */
const MOST_FED = 20
/** Of all sessions: the last ones, and those on top for instant mail. */
const KEPT_SHARE = 0.1

export interface LaneParts {
  readonly lease: Lease
  /** The pace of the site that takes mail for a domain, with our part in it where that can be known; never rejects. */
  readonly paceFor: (domain: string) => Promise<Pace>
  /** What is due there waits: until when, or null. */
  readonly suspendedUntil: (pace: Pace, workspaceId: string) => Date | null
  readonly isSuspended: (domain: string) => boolean
  /** One attempt, to the end of its conversation; null when the gate did not let it begin. */
  readonly deliver: (claimed: Claimed, gate: Gate) => Promise<Attempt | null>
  /** Writes the result of an attempt down. */
  readonly settle: (claimed: Claimed, attempt: Attempt, pace: Pace) => Promise<void>
  /** Too many results wait to be written. */
  readonly isBehind: () => boolean
  /** Gives back what was claimed and not begun. */
  readonly release: (held: readonly Held[], until?: Date) => Promise<void>
}

export interface Lanes {
  wake(site: string, hasInstant: boolean): void
  readonly active: number
  readonly held: number
  /** Sites with something to do. */
  view(): ReadonlyMap<string, SiteState>
  /** Claims no more, waits for what is under way up to `graceMs`, gives the rest back. */
  stop(graceMs: number): Promise<void>
}

interface State {
  readonly ctx: Context
  readonly parts: LaneParts
  readonly lanes: Map<string, Lane>
  readonly load: (member: Member) => Promise<Claimed | undefined>
  readonly holdings: Holdings
  active: number
  settling: number
  isStopped: boolean
  /** Lanes that found all sessions of the process taken. */
  readonly starved: Set<Lane>
}

/** With the pace that it began under: its lane may have another by the time it ends. */
interface Paced {
  readonly claimed: Claimed
  readonly pace: Pace
}

export function createLanes(ctx: Context, parts: LaneParts): Lanes {
  const holdings = new Holdings()
  const load = (members: Member[]): Promise<(Claimed | undefined)[]> => loadBatch(ctx, parts.lease, holdings, members)
  const loader = createBatcher(load, { max: CLAIM_BATCH, lanes: CLAIM_LANES })
  const state: State = {
    ctx, parts, lanes: new Map(), load: (member) => loader.add(member), holdings, active: 0, settling: 0, isStopped: false,
    starved: new Set(),
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

function viewAll(state: State): ReadonlyMap<string, SiteState> {
  const told = new Map<string, SiteState>()
  for (const lane of state.lanes.values()) if (lane.pace !== null && isWorthTelling(lane)) told.set(lane.site, viewOf(state, lane, lane.pace))
  return told
}

function isWorthTelling(lane: Lane): boolean {
  return lane.active + lane.held > 0 || lane.pace?.isSuspended === true
}

function viewOf(state: State, lane: Lane, pace: Pace): SiteState {
  const { sessions, waiting } = lane
  const isFull = (tier: Tier): boolean => !pace.isSuspended && (pace.isFull(tier) || !hasSession(state, lane))
  return {
    sessions, connections: pace.limit, isFull: { instant: isFull('instant'), others: isFull('bulk') }, rule: pace.receiver.title,
    pace: pace.key, waiting: waiting.length, waitingNames: waiting.slice(0, MOST_NAMED).map(nameOf),
  }
}

async function loadBatch(ctx: Context, lease: Lease, holdings: Holdings, members: readonly Member[]): Promise<(Claimed | undefined)[]> {
  const wanted = members.filter((member) => !holdings.isLeaving(member))
  holdings.take(wanted)
  const claimed = await claimRecipients(ctx.db, lease.id, wanted, new Date(ctx.clock.now())).catch((error: unknown) => {
    holdings.drop(wanted)
    holdings.doubt()
    throw error
  })
  const byKey = new Map(claimed.map((one) => [`${one.messageId}:${one.n}`, one]))
  const given = new Map(wanted.map((member) => {
    const key = `${member.messageId}:${member.n}`
    const one = byKey.get(key)
    byKey.delete(key) // the same recipient twice in a batch is started once
    return [member, one] as const
  }))
  holdings.drop(wanted.filter((member) => given.get(member) === undefined))
  return members.map((member) => given.get(member))
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
  lane.onChange = () => react(state, lane)
  state.lanes.set(site, lane)
  return lane
}

/** Its part in the pace is another now. What is held for nothing goes back, where another process may send it. */
function react(state: State, lane: Lane): void {
  if (lane.pace?.connections !== 0) return pump(state, lane)
  const held = lane.empty()
  if (held.length === 0) return
  giveBack(state, held).catch((error: unknown) => state.ctx.log.error({ err: error }, 'held mail could not be given back'))
}

/** Claims for a lane that has room, in the background; one claim at a time for each lane. */
function fill(state: State, lane: Lane): void {
  if (lane.isClaiming || lane.isDry || state.isStopped || !state.parts.lease.isHeld()) return
  const room = lane.room()
  if (room.instant + room.others === 0) return lane.pace?.onNeed()
  lane.isClaiming = true
  claim(state, lane, room).catch(async (error: unknown) => {
    state.ctx.log.debug({ err: error, site: lane.site }, 'a claim failed; a store is away')
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS))
  }).finally(() => {
    lane.isClaiming = false
    pump(state, lane)
  })
}

async function claim(state: State, lane: Lane, room: { instant: number; others: number }): Promise<void> {
  const wakes = lane.wakes
  lane.hasInstantNews = false
  const entries = await claimReady(state.ctx.redis, lane.site, room)
  const instants = entries.filter(({ tier }) => tier === 'instant').length
  if (instants === room.instant && instants > 0) lane.hasInstantNews = true
  if (instants < room.instant && entries.length - instants < room.others && lane.wakes === wakes) lane.isDry = true
  if (entries.length > 0 && await isPaced(state, lane, entries)) await makeGood(state, lane, entries)
}

/** Finds the pace of what was claimed. False when nothing may begin there now: it stays ready. */
async function isPaced(state: State, lane: Lane, entries: readonly ReadyEntry[]): Promise<boolean> {
  const domain = parseMember(entries[0]?.member ?? '')?.domain
  if (domain === undefined) return true
  lane.pace = await state.parts.paceFor(domain)
  if (lane.pace.connections > 0) return true
  lane.isDry = false
  lane.hasInstantNews ||= entries.some(({ tier }) => tier === 'instant')
  await putBackReady(state.ctx.redis, lane.site, entries)
  return false
}

async function makeGood(state: State, lane: Lane, entries: readonly ReadyEntry[]): Promise<void> {
  const wanted = entries.flatMap((entry) => ({ entry, member: parseMember(entry.member) }))
  const loaded = await Promise.allSettled(wanted.map(({ member }) => member === null ? Promise.resolve(undefined) : state.load(member)))
  const claimed = loaded.flatMap((one) => one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [])
  // suspended after it became ready: given back, it is kept aside when it is dispatched again
  const unwanted = claimed.filter((one) => state.isStopped || state.parts.isSuspended(one.domain))
  if (unwanted.length > 0) await giveBack(state, unwanted)
  for (const one of claimed) if (!unwanted.includes(one)) await take(state, lane, one)
  const failed = wanted.filter((_, i) => loaded[i]?.status === 'rejected').map(({ entry }) => entry)
  if (failed.length === 0) return
  lane.isDry = false
  await putBackReady(state.ctx.redis, lane.site, failed)
  throw new Error(`${failed.length} recipients could not be claimed`)
}

/** What a receiver does not take of its workspace now waits until it does. */
async function take(state: State, lane: Lane, claimed: Claimed): Promise<void> {
  const until = lane.pace === null ? null : state.parts.suspendedUntil(lane.pace, claimed.workspaceId)
  if (until === null) return lane.push(claimed)
  await state.parts.release([claimed], until)
  state.holdings.drop([claimed])
}

async function giveBack(state: State, claimed: readonly Claimed[]): Promise<void> {
  await state.parts.release(claimed)
  state.holdings.drop(claimed)
}

/** Starts what may start, then sees whether to claim more. */
function pump(state: State, lane: Lane): void {
  while (!state.isStopped && lane.pace !== null && state.parts.lease.isHeld()) {
    if (!hasSession(state, lane)) {
      state.starved.add(lane)
      break
    }
    const claimed = lane.next()
    if (claimed === undefined) break
    if (isOurs(state, claimed)) void begin(state, lane, { claimed, pace: lane.pace })
    else state.holdings.drop([claimed])
  }
  fill(state, lane)
}

/** Held under a lease that was lost meanwhile, it is another's now. */
function isOurs(state: State, claimed: Claimed): boolean {
  return claimed.lease === state.parts.lease.id
}

/**
 * Some sessions are always left for sites that have none, however many others hang: on a busy process a site is given more as it finishes
 * what it has, never more than a part of what is free, and none of the last tenth unless it has nothing under way. A tenth on top is for
 * instant mail only: a process that is full of bulk still has room for a code.
 */
function hasSession(state: State, lane: Lane): boolean {
  if (state.parts.isBehind()) return false
  const most = state.ctx.config.outboundSessions
  const free = most - state.active
  if (lane.active === 0 && free > 0) return true
  const isProven = lane.active < lane.window || free > AMPLE_SHARE * most
  if (isProven && lane.active < FREE_SHARE * free && free > KEPT_SHARE * most) return true
  return lane.hasInstant && lane.activeInstant < lane.window && lane.activeInstant < FREE_SHARE * (free + KEPT_SHARE * most)
}

/** A session came free: those that found none go on. */
function feedStarved(state: State): void {
  let left = MOST_FED
  for (const lane of state.starved) {
    if (left-- === 0 || state.active >= state.ctx.config.outboundSessions * (1 + KEPT_SHARE)) return
    // pumped in vain it comes behind the others
    state.starved.delete(lane)
    pump(state, lane)
  }
}

/** The lane is free for the next as soon as the conversation is over; the result is written beside it. */
async function begin(state: State, lane: Lane, { claimed, pace }: Paced): Promise<void> {
  lane.started(claimed)
  state.active++
  const beganAt = performance.now()
  const gate = gateFor(state, lane, { claimed, pace })
  const attempt = await state.parts.deliver(claimed, gate).catch((error: unknown) => complain(state, claimed, error))
  state.active--
  lane.finished(claimed, state.ctx.clock.now(), performance.now() - beganAt > SLOW_MS && attempt?.outcome.kind !== 'delivered')
  if (attempt !== undefined) void settle(state, { claimed, pace }, attempt)
  feedStarved(state)
  pump(state, lane)
}

/** A wait at the gate can be long, and so can a receiver's: what was stopped, or lost its lease meanwhile, does not begin or go on. */
function gateFor(state: State, lane: Lane, { claimed, pace }: Paced): Gate {
  const mayGo = (): boolean => state.parts.lease.isHeld() && isOurs(state, claimed)
  let isIn = false
  return {
    pace,
    enter: async (tier) => {
      lane.atGate.add(claimed)
      isIn = await pace.enter(tier)
      lane.atGate.delete(claimed)
      if (isIn) lane.entered(tier)
      return isIn && !state.isStopped && mayGo()
    },
    mayGo,
    leave: (tier) => {
      if (!isIn) return
      lane.left(tier)
      pace.leave(tier)
    },
  }
}

async function settle(state: State, { claimed, pace }: Paced, attempt: Attempt | null): Promise<void> {
  state.settling++
  const write = async (): Promise<void> => {
    if (attempt === null) return giveBack(state, [claimed])
    await state.parts.settle(claimed, attempt, pace)
    state.holdings.drop([claimed])
  }
  await write().catch((error: unknown) => complain(state, claimed, error))
  state.settling--
  feedStarved(state)
}

function complain(state: State, claimed: Claimed, error: unknown): undefined {
  state.ctx.log.error({ err: error, id: claimed.messageId, to: claimed.address }, 'a delivery ended in a way it should not; its lease will bring it back')
}

/** Finds sites that another process filled and died, or whose wake-up was lost; forgets those that stay empty. */
async function scanSites(state: State): Promise<void> {
  void lookForForgotten(state)
  try {
    for (const site of await listSites(state.ctx.redis)) if (state.lanes.get(site)?.isDry !== false) wakeQuietly(state, site)
    for (const lane of state.lanes.values()) {
      if (!lane.isIdle || state.ctx.clock.now() - lane.usedAtMs < FORGET_MS) pump(state, lane)
      else await forgetLane(state, lane)
    }
  } catch (error) {
    state.ctx.log.debug({ err: error }, 'sites cannot be listed; Redis is away')
  }
}

async function lookForForgotten({ holdings, parts, ctx }: State): Promise<void> {
  if (!holdings.isInDoubt) return
  await holdings.look(ctx.db, parts.lease.id, async (forgotten) => {
    ctx.log.warn({ count: forgotten.length }, 'claims whose answer was lost are given back')
    await parts.release(forgotten)
  }).catch((error: unknown) => ctx.log.debug({ err: error }, 'PostgreSQL cannot be asked for what we hold'))
}

function wakeQuietly(state: State, site: string): void {
  const known = state.lanes.get(site)
  const usedAtMs = known?.usedAtMs ?? state.ctx.clock.now()
  wake(state, site, true)
  const lane = state.lanes.get(site)
  if (lane !== undefined) lane.usedAtMs = usedAtMs
}

async function forgetLane(state: State, lane: Lane): Promise<void> {
  lane.pace = null
  state.lanes.delete(lane.site)
  await forgetSite(state.ctx.redis, lane.site)
}

async function stop(state: State, graceMs: number): Promise<void> {
  state.isStopped = true
  const until = performance.now() + graceMs
  const held = [...state.lanes.values()].flatMap((lane) => lane.empty())
  if (held.length > 0) await state.parts.release(held)
  while ((state.active + state.settling > 0 || [...state.lanes.values()].some((lane) => lane.isClaiming)) && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20))
}
