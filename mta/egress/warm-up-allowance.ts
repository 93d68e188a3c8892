/**
 * What this process may send by warming sources: blocks of the day's amounts, taken from PostgreSQL as they are needed, and the tally of
 * how receivers answered, written every few seconds.
 *
 * Killed, a process takes with it the rest of its blocks (at most a fiftieth of the day's amount for each source and receiver, counted as
 * sent although it was not) and up to five seconds of the tally. PostgreSQL away: nothing more is granted, and the tally waits.
 */
import type { Context } from '#src/context.ts'
import { countDays, openDay, returnToDay, takeOfDay, type DayCount, type DayKey } from '#src/egress/warm-up-days.ts'
import { amountOf, dayOf } from '#src/egress/warm-up.ts'

const BLOCK_SHARE = 1 / 50
const LARGEST_BLOCK = 200
const FLUSH_MS = 5000
/** Nothing is left of the day, or PostgreSQL is away: another process may have given something back by then. */
const EMPTY_MS = 30_000
/** Receivers with a block in memory; more are dropped, oldest first, and their rest given back. */
const MOST_BLOCKS = 20_000

/** One of the two must follow. */
export interface Ticket {
  /** The receiver answered. */
  used(isThrottled: boolean): void
  /** Nothing came of it. */
  giveBack(): void
}

interface Block extends DayKey {
  /** Infinity on a receiver's last step. */
  left: number
  emptyUntilMs: number
  filling: Promise<void> | null
}

export interface Allowance {
  /** Leave for one more to go; null when there is none. */
  take(sourceId: string, receiver: string): Promise<Ticket | null>
  /** Writes the tally and gives back what was not used. */
  stop(): Promise<void>
}

type Means = Pick<Context, 'db' | 'clock' | 'log' | 'config'>

interface State {
  readonly ctx: Means
  readonly blocks: Map<string, Block>
  tally: Map<string, DayCount>
}

export function createAllowance(ctx: Means): Allowance {
  const state: State = { ctx, blocks: new Map(), tally: new Map() }
  const timer = setInterval(() => void flush(state), FLUSH_MS)
  return {
    take: (sourceId, receiver) => take(state, blockOf(state, sourceId, receiver)),
    stop: async () => {
      clearInterval(timer)
      await Promise.all([flush(state), ...[...state.blocks.values()].map((block) => giveBack(state, block))])
    },
  }
}

function nameOf({ sourceId, receiver, day }: DayKey): string {
  return `${sourceId} ${receiver} ${day}`
}

function blockOf(state: State, sourceId: string, receiver: string): Block {
  const key = { sourceId, receiver, day: dayOf(state.ctx.clock.now()) }
  const known = state.blocks.get(nameOf(key))
  if (known !== undefined) return known
  const block: Block = { ...key, left: 0, emptyUntilMs: 0, filling: null }
  state.blocks.set(nameOf(key), block)
  if (state.blocks.size > MOST_BLOCKS) dropOldest(state)
  return block
}

function dropOldest(state: State): void {
  const [name, block] = state.blocks.entries().next().value ?? []
  if (name === undefined || block === undefined) return
  state.blocks.delete(name)
  void giveBack(state, block)
}

async function take(state: State, block: Block): Promise<Ticket | null> {
  while (block.left < 1) {
    if (state.ctx.clock.now() < block.emptyUntilMs) return null
    await (block.filling ??= fill(state, block).finally(() => {
      block.filling = null
    }))
  }
  block.left--
  return {
    used: (isThrottled) => count(state, block, isThrottled),
    giveBack: () => {
      block.left++
    },
  }
}

/** On the day that it was taken of, also past midnight. */
function count({ tally }: State, { sourceId, receiver, day }: Block, isThrottled: boolean): void {
  const name = nameOf({ sourceId, receiver, day })
  const known = tally.get(name) ?? { sourceId, receiver, day, sent: 0, throttled: 0 }
  tally.set(name, { ...known, sent: known.sent + 1, throttled: known.throttled + (isThrottled ? 1 : 0) })
}

/** One block more; those that wait for it share it. */
async function fill({ ctx }: State, block: Block): Promise<void> {
  const schedule = ctx.config.warmUp
  try {
    const step = await openDay(ctx.db, block, schedule)
    const amount = step === null ? 0 : amountOf(step, schedule)
    const wanted = Math.min(Math.max(1, Math.ceil((amount ?? 0) * BLOCK_SHARE)), LARGEST_BLOCK)
    block.left += amount === null ? Infinity : await takeOfDay(ctx.db, block, wanted, amount)
  } catch (error) {
    ctx.log.debug(
      { err: error, receiver: block.receiver },
      'what a warming source may send cannot be asked; PostgreSQL is away',
    )
  }
  if (block.left < 1) block.emptyUntilMs = ctx.clock.now() + EMPTY_MS
}

async function flush(state: State): Promise<void> {
  const counts = [...state.tally.values()]
  state.tally = new Map()
  try {
    await countDays(state.ctx.db, counts)
  } catch (error) {
    state.ctx.log.debug({ err: error }, 'how receivers took warming sources could not be written; it waits')
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

async function giveBack({ ctx }: State, block: Block): Promise<void> {
  const { left } = block
  block.left = 0
  if (left < 1 || !Number.isFinite(left)) return
  await returnToDay(ctx.db, block, left).catch((error: unknown) =>
    ctx.log.debug({ err: error }, 'the rest of a warm-up block is lost'),
  )
}
