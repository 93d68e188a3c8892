/**
 * Writes results down: outcomes of many attempts become one statement and one commit; what is deferred goes back on the schedule after it.
 * A result is kept here until it is written: PostgreSQL away means waiting, not forgetting. Dies here between the receiver's 250 and the commit:
 * the one window in which a second copy is sent.
 */
import { createBatcher } from '#src/batcher.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/db.ts'
import { isWorthRepeating, moveRecipients, type Moved, type Moving } from '#src/messages/move.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { schedule, type Due } from '#src/queue/schedule.ts'
import type { Claimed } from '#src/messages/claim.ts'

const MAX_BATCH = 500
const LANES = 2
/** Results of a busy moment share a commit. */
const GATHER_MS = 8
const RETRY_MS = 300

export interface Settlement {
  readonly claimed: Pick<Claimed, 'messageId' | 'n' | 'domain' | 'tier'>
  readonly moving: Moving
}

export interface Settler {
  /** Resolves when it is committed: true when the recipient moved, false when it was no longer ours to move. */
  settle(settlement: Settlement): Promise<boolean>
  readonly waiting: number
  drain(): Promise<void>
}

export function createSettler(ctx: Context): Settler {
  const batcher = createBatcher<Settlement, boolean>((batch) => settleBatch(ctx, batch), { max: MAX_BATCH, lanes: LANES, gatherMs: GATHER_MS })
  return {
    settle: (settlement) => batcher.add(settlement),
    get waiting() {
      return batcher.waiting
    },
    drain: () => batcher.drain(),
  }
}

async function settleBatch(ctx: Context, batch: readonly Settlement[]): Promise<boolean[]> {
  const moved = await moveUntilDone(ctx, batch.map(({ moving }) => moving)).catch((error: unknown) => error)
  if (!isMoved(moved)) return settleApart(ctx, batch, moved)
  const due = batch.flatMap(({ claimed, moving }, i): Due[] => moved.done.has(i) && isDueAgain(moving) ? [{ ...claimed, dueMs: moving.dueAt?.getTime() ?? ctx.clock.now() }] : [])
  schedule(ctx, due, moved)
  return batch.map((_, i) => moved.done.has(i))
}

function isMoved(result: unknown): result is Moved {
  return typeof result === 'object' && result !== null && 'done' in result
}

/** One result that PostgreSQL will not take must not hold back the others: halves, then each alone, at last without its conversation. */
async function settleApart(ctx: Context, batch: readonly Settlement[], error: unknown): Promise<boolean[]> {
  const [only] = batch
  if (batch.length > 1) {
    const middle = Math.ceil(batch.length / 2)
    return [...await settleBatch(ctx, batch.slice(0, middle)), ...await settleBatch(ctx, batch.slice(middle))]
  }
  if (only === undefined || only.moving.attempt?.record.conversation === UNKEEPABLE) throw error
  ctx.log.error({ err: error, id: only.claimed.messageId, n: only.claimed.n }, 'a conversation could not be stored; its outcome is')
  return settleBatch(ctx, [withoutTexts(only)])
}

const UNKEEPABLE = '-- the conversation could not be stored'

function withoutTexts({ claimed, moving }: Settlement): Settlement {
  const { attempt } = moving
  const plain = attempt === null ? null : { ...attempt, record: { ...attempt.record, conversation: UNKEEPABLE, outcome: plainOutcome(attempt.record.outcome) } }
  return { claimed, moving: { ...moving, reason: plainText(moving.reason ?? ''), eventData: null, attempt: plain } }
}

function plainOutcome(outcome: Outcome): Outcome {
  return outcome.kind === 'delivered'
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
async function moveUntilDone(ctx: Context, moves: readonly Moving[]): Promise<Moved> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      const moved = await moveRecipients(ctx.db, moves, new Date(ctx.clock.now()))
      // after a lost answer nobody knows which of them moved: all are put on the schedule, where one too many does no harm
      return isFirst ? moved : { ...moved, done: new Set(moves.keys()) }
    } catch (error) {
      if (!isDatabaseAway(error) && !isWorthRepeating(error)) throw error
      ctx.log.warn({ err: error, results: moves.length }, 'results could not be written; trying again')
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}
