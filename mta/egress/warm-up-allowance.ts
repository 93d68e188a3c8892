/**
 * What this process may send from warming sources: blocks of the day's allowance, reserved in PostgreSQL as they are
 * needed, and the tally of the receivers' replies, written every few seconds.
 *
 * A killed process loses the rest of its blocks (at most a fiftieth of the day's allowance for each source and
 * receiver, counted as sent although it was not) and up to five seconds of the tally. PostgreSQL away: no further
 * allowance is granted, and the tally waits.
 */
import type { Context } from '#src/context.ts'
import {
  countReplies,
  openDay,
  returnAllowance,
  claimAllowance,
  type DayCount,
  type DayKey,
} from '#src/egress/warm-up-days.ts'
import { allowanceOf, dayOf } from '#src/egress/warm-up.ts'

const BLOCK_SHARE = 1 / 50
const MAX_BLOCK = 200
const FLUSH_MS = 5000
/**
 * How long no block is requested after none was left or PostgreSQL was away: another process may return some meanwhile.
 */
const EMPTY_RETRY_MS = 30_000
/** Blocks in memory, one for each source and receiver; beyond this the oldest is dropped and its rest returned. */
const MAX_BLOCKS = 20_000

/** The right to send one message from a warming source. One of its two functions must be called. */
export interface WarmUpTicket {
  /** The receiver replied. */
  recordSent(isThrottled: boolean): void
  /** The source was not used, or no server replied. */
  release(): void
}

interface Block extends DayKey {
  /** Infinity on a receiver's last step. */
  left: number
  emptyUntilMs: number
  filling: Promise<void> | null
}

export interface WarmUpAllowance {
  /** Reserves one message of today's allowance; null when none is left. */
  reserve(sourceId: string, receiver: string): Promise<WarmUpTicket | null>
  /** Writes the tally and returns what was not used. */
  stop(): Promise<void>
}

type AllowanceContext = Pick<Context, 'db' | 'clock' | 'log' | 'config'>

interface AllowanceState {
  readonly ctx: AllowanceContext
  readonly blocks: Map<string, Block>
  tally: Map<string, DayCount>
}

export function createWarmUpAllowance(ctx: AllowanceContext): WarmUpAllowance {
  const state: AllowanceState = { ctx, blocks: new Map(), tally: new Map() }
  const timer = setInterval(() => void flush(state), FLUSH_MS)
  return {
    reserve: (sourceId, receiver) => reserve(state, blockOf(state, sourceId, receiver)),
    stop: async () => {
      clearInterval(timer)
      await Promise.all([flush(state), ...[...state.blocks.values()].map((block) => releaseBlock(state, block))])
    },
  }
}

function nameOf({ sourceId, receiver, day }: DayKey): string {
  return `${sourceId} ${receiver} ${day}`
}

function blockOf(state: AllowanceState, sourceId: string, receiver: string): Block {
  const key = { sourceId, receiver, day: dayOf(state.ctx.clock.now()) }
  const known = state.blocks.get(nameOf(key))
  if (known !== undefined) return known
  const block: Block = { ...key, left: 0, emptyUntilMs: 0, filling: null }
  state.blocks.set(nameOf(key), block)
  if (state.blocks.size > MAX_BLOCKS) dropOldest(state)
  return block
}

function dropOldest(state: AllowanceState): void {
  const [name, block] = state.blocks.entries().next().value ?? []
  if (name === undefined || block === undefined) return
  state.blocks.delete(name)
  void releaseBlock(state, block)
}

async function reserve(state: AllowanceState, block: Block): Promise<WarmUpTicket | null> {
  while (block.left < 1) {
    if (state.ctx.clock.now() < block.emptyUntilMs) return null
    await (block.filling ??= fill(state, block).finally(() => {
      block.filling = null
    }))
  }
  block.left--
  return {
    recordSent: (isThrottled) => countSent(state, block, isThrottled),
    release: () => {
      block.left++
    },
  }
}

/** Counts on the day of the reservation, also past midnight. */
function countSent({ tally }: AllowanceState, { sourceId, receiver, day }: Block, isThrottled: boolean): void {
  const name = nameOf({ sourceId, receiver, day })
  const known = tally.get(name) ?? { sourceId, receiver, day, sent: 0, throttled: 0 }
  tally.set(name, { ...known, sent: known.sent + 1, throttled: known.throttled + (isThrottled ? 1 : 0) })
}

/** Reserves one more block; all callers that wait for it share it. */
async function fill({ ctx }: AllowanceState, block: Block): Promise<void> {
  const schedule = ctx.config.warmUp
  try {
    const step = await openDay(ctx.db, block, schedule)
    const amount = step === null ? 0 : allowanceOf(step, schedule)
    const wanted = Math.min(Math.max(1, Math.ceil((amount ?? 0) * BLOCK_SHARE)), MAX_BLOCK)
    block.left += amount === null ? Infinity : await claimAllowance(ctx.db, block, wanted, amount)
  } catch (error) {
    ctx.log.debug({ err: error, receiver: block.receiver }, 'failed to reserve warm-up allowance; PostgreSQL is away')
  }
  if (block.left < 1) block.emptyUntilMs = ctx.clock.now() + EMPTY_RETRY_MS
}

async function flush(state: AllowanceState): Promise<void> {
  const counts = [...state.tally.values()]
  state.tally = new Map()
  try {
    await countReplies(state.ctx.db, counts)
  } catch (error) {
    state.ctx.log.debug({ err: error }, 'failed to store warm-up replies; they are stored with the next')
    for (const one of counts) {
      const since = state.tally.get(nameOf(one))
      state.tally.set(nameOf(one), {
        ...one,
        sent: one.sent + (since?.sent ?? 0),
        throttled: one.throttled + (since?.throttled ?? 0),
      })
    }
  }
  const today = dayOf(state.ctx.clock.now())
  for (const [name, block] of state.blocks) if (block.day !== today) state.blocks.delete(name)
}

async function releaseBlock({ ctx }: AllowanceState, block: Block): Promise<void> {
  const { left } = block
  block.left = 0
  if (left < 1 || !Number.isFinite(left)) return
  await returnAllowance(ctx.db, block, left).catch((error: unknown) =>
    ctx.log.debug({ err: error }, 'failed to return unused warm-up allowance; it counts as sent'),
  )
}
