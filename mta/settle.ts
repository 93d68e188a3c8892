/**
 * Writes results down: outcomes of many attempts become one statement and one commit; what is deferred goes back on the schedule after it.
 * A result is kept here until it is written: PostgreSQL away means waiting, not forgetting. Dies here between the receiver's 250 and the commit:
 * the one window in which a second copy is sent. Hard refusals of a batch go on the suppression list with it (src/suppression/condemn.ts).
 */
import { createBatcher } from '#src/batcher.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/db.ts'
import { isWorthRepeating, moveRecipients, type Moved, type Moving } from '#src/messages/move.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { schedule, type Due } from '#src/queue/schedule.ts'
import type { Claimed } from '#src/messages/claim.ts'
import { condemn, type Refused } from '#src/suppression/condemn.ts'
import { countResults, createDeliveries, type Deliveries } from '#src/suppression/outage.ts'
import { receiverOf } from '#src/suppression/receiver.ts'

const MAX_BATCH = 500
const LANES = 2
/** Results of a busy moment share a commit. */
const GATHER_MS = 8
const RETRY_MS = 300
/** How soon deliveries are counted that no hard bounce brought along. */
const COUNT_MS = 5000

export interface Settlement {
  readonly claimed: Pick<Claimed, 'messageId' | 'n' | 'workspaceId' | 'domain' | 'tier'> &
    Partial<Pick<Claimed, 'campaignId'>>
  readonly moving: Moving
  /** A hard refusal of the recipient. */
  readonly refused?: Refused | null
}

export interface Settler {
  /** Resolves when it is committed: true when the recipient moved, false when it was no longer ours to move. */
  settle(settlement: Settlement): Promise<boolean>
  readonly waiting: number
  drain(): Promise<void>
}

/** `observe` hears the size of each batch. */
export function createSettler(ctx: Context, observe: (size: number) => void = () => undefined): Settler {
  const parts: Parts = { ctx, deliveries: createDeliveries() }
  const carryOut = (batch: readonly Settlement[]): Promise<boolean[]> => {
    observe(batch.length)
    return settleBatch(parts, batch)
  }
  const batcher = createBatcher<Settlement, boolean>(carryOut, { max: MAX_BATCH, lanes: LANES, gatherMs: GATHER_MS })
  const counting = setInterval(() => void writeDeliveries(parts), COUNT_MS).unref()
  return {
    settle: (settlement) => batcher.add(settlement),
    get waiting() {
      return batcher.waiting
    },
    drain: async () => {
      await batcher.drain()
      clearInterval(counting)
      await writeDeliveries(parts)
    },
  }
}

interface Parts {
  readonly ctx: Context
  readonly deliveries: Deliveries
}

async function writeDeliveries({ ctx, deliveries }: Parts): Promise<void> {
  const taken = deliveries.take()
  await countResults(ctx.db, taken, new Date(ctx.clock.now())).catch((error: unknown) => {
    deliveries.restore(taken)
    ctx.log.debug({ err: error }, 'deliveries could not be counted; they are with the next')
  })
}

async function settleBatch(parts: Parts, batch: readonly Settlement[]): Promise<boolean[]> {
  const { ctx, deliveries } = parts
  const moved = await moveUntilDone(parts, batch).catch((error: unknown) => error)
  if (!isMoved(moved)) return settleApart(parts, batch, moved)
  const due: Due[] = []
  for (const i of moved.done) {
    const { claimed, moving } = batch[i] as Settlement
    if (isDueAgain(moving)) due.push({ ...claimed, dueMs: moving.dueAt?.getTime() ?? ctx.clock.now() })
    else if (moving.move === 'deliver')
      deliveries.count(receiverOf(moving.attempt?.record.host ?? null, claimed.domain))
  }
  schedule(ctx, due, moved)
  return batch.map((_, i) => moved.done.has(i))
}

function isMoved(result: unknown): result is Moved {
  return typeof result === 'object' && result !== null && 'done' in result
}

/** One result that PostgreSQL will not take must not hold back the others: halves, then each alone, at last without its conversation. */
async function settleApart(parts: Parts, batch: readonly Settlement[], error: unknown): Promise<boolean[]> {
  const [only] = batch
  if (batch.length > 1) {
    const middle = Math.ceil(batch.length / 2)
    return [...(await settleBatch(parts, batch.slice(0, middle))), ...(await settleBatch(parts, batch.slice(middle)))]
  }
  if (only === undefined || only.moving.attempt?.record.conversation === UNKEEPABLE) throw error
  parts.ctx.log.error(
    { err: error, id: only.claimed.messageId, n: only.claimed.n },
    'a conversation could not be stored; its outcome is',
  )
  return settleBatch(parts, [withoutTexts(only)])
}

const UNKEEPABLE = '-- the conversation could not be stored'

function withoutTexts({ claimed, moving }: Settlement): Settlement {
  const { attempt } = moving
  const plain =
    attempt === null
      ? null
      : {
          ...attempt,
          record: { ...attempt.record, conversation: UNKEEPABLE, outcome: plainOutcome(attempt.record.outcome) },
        }
  return { claimed, moving: { ...moving, reason: plainText(moving.reason ?? ''), eventData: null, attempt: plain } }
}

function plainOutcome(outcome: Outcome): Outcome {
  return outcome.kind === 'delivered' || outcome.kind === 'handed-over'
    ? { ...outcome, reply: { ...outcome.reply, text: plainText(outcome.reply.text) } }
    : { ...outcome, detail: plainText(outcome.detail), ...('reply' in outcome ? { reply: null } : {}) }
}

function plainText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?')
}

function isDueAgain({ move }: Moving): boolean {
  return move === 'defer' || move === 'release'
}

/** Repeats while PostgreSQL is away. A repeat of a batch that did commit moves nothing and says so, which is right: it is done. */
async function moveUntilDone(parts: Parts, batch: readonly Settlement[]): Promise<Moved> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      const moved = await moveOnce(parts, batch)
      // after a lost answer nobody knows which of them moved: all are put on the schedule, where one too many does no harm
      return isFirst ? moved : { ...moved, done: new Set(batch.keys()) }
    } catch (error) {
      if (!isDatabaseAway(error) && !isWorthRepeating(error)) throw error
      parts.ctx.log.warn({ err: error, results: batch.length }, 'results could not be written; trying again')
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** One statement; with a hard refusal in the batch, a transaction. */
async function moveOnce({ ctx, deliveries }: Parts, batch: readonly Settlement[]): Promise<Moved> {
  const moves = batch.map(({ moving }) => moving)
  const now = new Date(ctx.clock.now())
  const ledgers = batch.some(({ claimed }) => claimed.campaignId !== null) ? 'follow' : 'none'
  if (batch.every(({ refused }) => refused === null || refused === undefined))
    return moveRecipients(ctx.db, moves, now, ledgers)
  const taken = deliveries.take()
  try {
    return await ctx.db.transaction(async (tx) => {
      const moved = await moveRecipients(tx, moves, now, ledgers)
      const refused = batch.flatMap((one, i) => (moved.done.has(i) && one.refused ? [one.refused] : []))
      await condemn(tx, { refused, deliveries: taken }, now)
      return moved
    })
  } catch (error) {
    deliveries.restore(taken)
    throw error
  }
}
