/**
 * Accepts messages. The server is responsible for a message when `accept` resolves with `stored`: PostgreSQL commits
 * first, then the client gets the response. Concurrent calls share one transaction and one commit
 * (`message-store.ts`).
 *
 * Crash before the commit: nothing is stored, and the client gets no response. Crash after the commit, or Redis
 * unavailable: the message is stored but not scheduled; the worker finds it by comparing PostgreSQL with Redis.
 * PostgreSQL unavailable: every waiting call rejects. If the response to a commit is lost, the client may send the
 * message again; only its idempotency key prevents a duplicate.
 */
import { type BatcherOptions, createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import { clockProblem } from '#src/stores/server-clock.ts'
import { ClockSkewError } from '#src/stores/store-errors.ts'
import { acceptWithSpan } from './accept-span.ts'
import { createBodyCompressor } from './body-compression.ts'
import { claimIdOf, hasIdempotencyKey } from './idempotency.ts'
import { createBatchStore, type StoredBatch } from './message-store.ts'
import type { AcceptResult, Submission } from './submission.ts'

// Two concurrent transactions keep the disk busy while the next batch fills; more would only make the batches smaller.
const CONCURRENT_BATCHES = 2
const MAX_BATCH = 200
/** The size that counts as one message of a batch: see `weightOf`. */
const RECIPIENTS_PER_UNIT = 5
const LENGTH_PER_UNIT = 32 * 1024

/** For metrics. */
export interface AcceptedBatches {
  readonly count: number
  readonly messages: number
  /** Recipients whose address is suppressed. */
  readonly suppressed: number
}

export interface Acceptor {
  /**
   * @throws when PostgreSQL is unavailable (`isDatabaseAway`): the message may or may not be stored. With a clock that
   * differs too much from PostgreSQL's, it is not stored: its id and its times might be wrong.
   */
  accept(submission: Submission): Promise<AcceptResult>
  /** Resolves when all accepted calls are done. */
  drain(): Promise<void>
  readonly batches: AcceptedBatches
}

/** `batching`: larger and fewer batches, for callers that accept a delay. */
export function createAcceptor(
  ctx: Context,
  batching: Pick<BatcherOptions<Submission>, 'lingerMs' | 'minBatch' | 'isUrgent' | 'expected'> = {},
): Acceptor {
  const batches = { count: 0, messages: 0, suppressed: 0 }
  const keysInProgress = new Set<string>()
  const storeBatch = createBatchStore(ctx)
  const compress = createBodyCompressor(ctx)
  const batcher = createBatcher<Submission, AcceptResult>(
    async (submissions) => {
      batches.count++
      batches.messages += submissions.length
      const { results, ...stored } = await storeBatch(submissions)
      batches.suppressed += stored.suppressed.size
      scheduleAccepted(
        ctx,
        submissions.filter((_, index) => results[index]?.kind === 'stored'),
        stored,
      )
      return results
    },
    { max: MAX_BATCH, concurrency: CONCURRENT_BATCHES, weightOf, ...batching },
  )

  async function acceptKeyed(submission: Submission, name: string): Promise<AcceptResult> {
    if (keysInProgress.has(name)) return { kind: 'in-progress' }
    keysInProgress.add(name)
    try {
      return await batcher.add(submission)
    } finally {
      keysInProgress.delete(name)
    }
  }

  function add(submission: Submission): Promise<AcceptResult> {
    return hasIdempotencyKey(submission) ? acceptKeyed(submission, claimIdOf(submission)) : batcher.add(submission)
  }

  return {
    accept: async (submission) => {
      await requireClock(ctx)
      return acceptWithSpan(ctx.tracer, await compress(submission), add)
    },
    drain: () => batcher.drain(),
    batches,
  }
}

async function requireClock({ db, config }: Pick<Context, 'db' | 'config'>): Promise<void> {
  if (db.clock.skewMs() === null) await db.measureClock()
  const problem = clockProblem(db.clock, config.maxClockSkewSeconds)
  if (problem !== null) throw new ClockSkewError(`no message is accepted: ${problem}`)
}

/** Messages with many recipients or long texts count as several: a batch of 200 of them would delay all others. */
function weightOf({ recipients, html, text, smtp }: Submission): number {
  return Math.max(
    1,
    recipients.length / RECIPIENTS_PER_UNIT,
    ((html?.length ?? 0) + (text?.length ?? 0) + (smtp?.raw?.length ?? 0)) / LENGTH_PER_UNIT,
  )
}

/** Runs after the commit and does not wait for Redis: the worker schedules what is missing there. */
export function scheduleAccepted(
  ctx: Pick<Context, 'redis' | 'clock' | 'log'>,
  submissions: readonly Submission[],
  stored: StoredBatch,
): void {
  const due: DueRecipient[] = []
  for (const submission of submissions) {
    const dueMs = (submission.scheduledAt ?? submission.createdAt).getTime()
    for (const [n, { domain }] of submission.recipients.entries())
      if (!stored.suppressed.has(`${submission.id}:${n}`))
        due.push({
          messageId: submission.id,
          n,
          workspaceId: submission.workspaceId,
          domain,
          tier: submission.tier,
          dueMs,
        })
  }
  schedule(ctx, due, {
    hasDeliveries: stored.hasDeliveries,
    workspaces: [...new Set(submissions.map(({ workspaceId }) => workspaceId))],
  })
}
