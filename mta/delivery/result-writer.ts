/**
 * Writes results: one statement and one commit store the outcomes of many attempts, and deferred recipients go back
 * on the schedule after it. A result stays here until it is written: while PostgreSQL is away it waits. The process
 * dies before the commit: the next process writes the results that are in the journal (result-journal.ts). The hard
 * bounces of a batch go on the suppression list in the same transaction (src/suppression/suppress-hard-bounces.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBatcher } from '#src/concurrency/batcher.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import type { Context } from '#src/context.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { applyTransitions, type TransitionResult, type Transition } from '#src/messages/transition.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import { isStoreError, isValueRefused } from '#src/stores/store-errors.ts'
import { suppressHardBounces, type HardBounce } from '#src/suppression/suppress-hard-bounces.ts'
import { startCommittedCounts, type CommittedCounts } from './result-counts.ts'

const MAX_BATCH = 500
const CONCURRENT_BATCHES = 2
/**
 * Results of a busy moment share a commit: each statement costs PostgreSQL as much as twenty results. The first result
 * of a quiet moment is written at once.
 */
const LINGER_MS = 20
const FIRST_RETRY_MS = 300
const LONGEST_RETRY_MS = 2000
/** Stored instead of a conversation that PostgreSQL does not accept. */
const UNSTORABLE = '-- the conversation could not be stored'

export interface DeliveryResult {
  readonly claimed: Pick<ClaimedRecipient, 'messageId' | 'n' | 'workspaceId' | 'domain' | 'tier'> &
    Partial<Pick<ClaimedRecipient, 'campaignId'>>
  readonly transition: Transition
  readonly hardBounce?: HardBounce | null
}

export interface ResultWriter {
  /** Resolves after the commit: true when the recipient moved, false when this process no longer held its lease. */
  write(result: DeliveryResult): Promise<boolean>
  /** Results that are not written yet. */
  readonly waiting: number
  /** Resolves when all results are written. */
  drain(): Promise<void>
}

interface Writer {
  readonly ctx: WriterContext
  readonly counts: CommittedCounts
}

export type WriterContext = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

/** `observeBatch` is called with the size of each batch. */
export function createResultWriter(
  ctx: WriterContext,
  observeBatch: (size: number) => void = () => undefined,
): ResultWriter {
  const writer: Writer = { ctx, counts: startCommittedCounts(ctx) }
  const batcher = createBatcher<DeliveryResult, boolean>(
    (batch) => {
      observeBatch(batch.length)
      return writeBatch(writer, batch)
    },
    { max: MAX_BATCH, concurrency: CONCURRENT_BATCHES, lingerMs: LINGER_MS },
  )
  return {
    write: (result) => batcher.add(result),
    get waiting() {
      return batcher.waiting
    },
    drain: async () => {
      await batcher.drain()
      await writer.counts.stop()
    },
  }
}

async function writeBatch(writer: Writer, batch: readonly DeliveryResult[]): Promise<boolean[]> {
  const moved = await moveWithRetry(writer, batch).catch((error: unknown) => error)
  if (!isMoved(moved)) return writeSeparately(writer, batch, moved)
  const due: DueRecipient[] = []
  for (const i of moved.done) {
    const result = batch[i] as DeliveryResult
    const { claimed, transition } = result
    if (returnsToSchedule(transition))
      due.push({ ...claimed, dueMs: transition.dueAt?.getTime() ?? writer.ctx.clock.now() })
    else writer.counts.count(result)
  }
  schedule(writer.ctx, due, moved)
  return batch.map((_, i) => moved.done.has(i))
}

function isMoved(result: unknown): result is TransitionResult {
  return typeof result === 'object' && result !== null && 'done' in result
}

function returnsToSchedule({ move }: Transition): boolean {
  return move === 'defer' || move === 'release'
}

/**
 * Retries until PostgreSQL has stored the results: the replies of the receivers are nowhere else. Only a value that it
 * does not accept needs another statement. Repeating a batch that was committed moves nothing and does no harm.
 */
async function moveWithRetry(writer: Writer, batch: readonly DeliveryResult[]): Promise<TransitionResult> {
  const backoff = createFailureBackoff(writer.ctx.log, {
    message: 'failed to write results; retrying',
    fields: { results: batch.length },
    firstMs: FIRST_RETRY_MS,
    longestMs: LONGEST_RETRY_MS,
  })
  for (let isFirst = true; ; isFirst = false) {
    try {
      const moved = await moveOnce(writer, batch)
      // after a lost reply it is unknown which recipients moved: all are scheduled, and one too many does no harm
      return isFirst ? moved : { ...moved, done: new Set(batch.keys()) }
    } catch (error) {
      if (isValueRefused(error) || !isStoreError(error)) throw error
      await sleep(backoff.failed(error))
    }
  }
}

/** One statement; with a hard bounce in the batch, a transaction. */
async function moveOnce({ ctx, counts }: Writer, batch: readonly DeliveryResult[]): Promise<TransitionResult> {
  const moves = batch.map(({ transition }) => transition)
  const now = new Date(ctx.clock.now())
  const ledgers = batch.some(({ claimed }) => claimed.campaignId !== null) ? 'follow' : 'none'
  if (!batch.some(({ hardBounce }) => hardBounce)) return applyTransitions(ctx.db, moves, now, ledgers)
  const deliveries = counts.takeDeliveries()
  try {
    return await ctx.db.transaction(async (tx) => {
      const moved = await applyTransitions(tx, moves, now, ledgers)
      const refused = batch.flatMap(({ hardBounce }, i) => (moved.done.has(i) && hardBounce ? [hardBounce] : []))
      await suppressHardBounces(tx, { hardBounces: refused, deliveries }, now)
      return moved
    })
  } catch (error) {
    counts.restoreDeliveries(deliveries)
    throw error
  }
}

/**
 * A result that PostgreSQL does not accept must not delay the others: writes halves, then each result alone, and at
 * last the refused one without its conversation.
 */
async function writeSeparately(writer: Writer, batch: readonly DeliveryResult[], error: unknown): Promise<boolean[]> {
  const [only] = batch
  if (batch.length > 1) {
    const middle = Math.ceil(batch.length / 2)
    return [...(await writeBatch(writer, batch.slice(0, middle))), ...(await writeBatch(writer, batch.slice(middle)))]
  }
  if (only === undefined || only.transition.attempt?.record.conversation === UNSTORABLE) throw error
  const { messageId: id, n } = only.claimed
  writer.ctx.log.error({ err: error, id, n }, 'PostgreSQL refused a conversation; storing its outcome without it')
  return writeBatch(writer, [withoutTexts(only)])
}

function withoutTexts({ claimed, transition }: DeliveryResult): DeliveryResult {
  const { attempt } = transition
  const plain =
    attempt === null
      ? null
      : {
          ...attempt,
          record: { ...attempt.record, conversation: UNSTORABLE, outcome: plainOutcome(attempt.record.outcome) },
        }
  return {
    claimed,
    transition: { ...transition, reason: plainText(transition.reason ?? ''), eventData: null, attempt: plain },
  }
}

function plainOutcome(outcome: Outcome): Outcome {
  return outcome.kind === 'delivered' || outcome.kind === 'relayed'
    ? { ...outcome, reply: { ...outcome.reply, text: plainText(outcome.reply.text) } }
    : { ...outcome, detail: plainText(outcome.detail), ...('reply' in outcome ? { reply: null } : {}) }
}

function plainText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?')
}
