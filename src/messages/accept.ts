/**
 * Accepts messages. The server is responsible for a message when `accept` resolves with `stored`: PostgreSQL commits
 * first, then the client gets the response. Concurrent calls share one transaction and one commit, usually one
 * statement (`storeInOneStatement`).
 *
 * Crash before the commit: nothing is stored, and the client gets no response. Crash after the commit, or Redis
 * unavailable: the message is stored but not scheduled; the worker finds it by comparing PostgreSQL with Redis.
 * PostgreSQL unavailable: every waiting call rejects. If the response to a commit is lost, the client may send the
 * message again; only its idempotency key prevents a duplicate.
 */
import { createTtlCache, type TtlCache } from '#src/concurrency/ttl-cache.ts'
import { type BatcherOptions, createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import { claimKeys, claimIdOf, releaseKeys, hasIdempotencyKey } from './idempotency.ts'
import { consumeQuota } from './quota.ts'
import { storeInOneStatement, storeMessages, type StoredBatch } from './message-store.ts'
import type { AcceptResult, Submission } from './submission.ts'

// Two concurrent transactions keep the disk busy while the next batch fills; more would only make the batches smaller.
const CONCURRENT_BATCHES = 2
const MAX_BATCH = 200
/** The size that counts as one message of a batch: see `weightOf`. */
const RECIPIENTS_PER_UNIT = 5
const LENGTH_PER_UNIT = 32 * 1024
/**
 * Workspaces with a recently rejected message. A statement that is rolled back leaves dead rows in the tables, so their
 * messages are accepted step by step for this time.
 */
const RECENTLY_REFUSED = { max: 10_000, ttlMs: 1000 }

const STORED: AcceptResult = { kind: 'stored' }
const OVER_QUOTA: AcceptResult = { kind: 'over-quota' }

export interface Acceptor {
  /** @throws when PostgreSQL is unavailable (`isDatabaseAway`): the message may or may not be stored. */
  accept(submission: Submission): Promise<AcceptResult>
  /** Resolves when all accepted calls are done. */
  drain(): Promise<void>
  readonly batches: { readonly count: number; readonly messages: number }
}

/** `batching`: larger and fewer batches, for callers that accept a delay. */
export function createAcceptor(
  ctx: Context,
  batching: Pick<BatcherOptions<Submission>, 'lingerMs' | 'minBatch'> = {},
): Acceptor {
  const batches = { count: 0, messages: 0 }
  const keysInProgress = new Set<string>()
  const recentlyRefused = createTtlCache<true>(ctx.clock, RECENTLY_REFUSED)
  const batcher = createBatcher<Submission, AcceptResult>(
    async (submissions) => {
      batches.count++
      batches.messages += submissions.length
      return acceptBatch(ctx, submissions, recentlyRefused)
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

  return {
    accept: (submission) =>
      hasIdempotencyKey(submission) ? acceptKeyed(submission, claimIdOf(submission)) : batcher.add(submission),
    drain: () => batcher.drain(),
    batches,
  }
}

/** Messages with many recipients or long texts count as several: a batch of 200 of them would delay all others. */
function weightOf({ recipients, html, text, smtp }: Submission): number {
  return Math.max(
    1,
    recipients.length / RECIPIENTS_PER_UNIT,
    ((html?.length ?? 0) + (text?.length ?? 0) + (smtp?.raw?.length ?? 0)) / LENGTH_PER_UNIT,
  )
}

/** Stores the batch in one statement if no rejection is expected, otherwise step by step. */
async function acceptBatch(
  ctx: Context,
  submissions: readonly Submission[],
  recentlyRefused: TtlCache<true>,
): Promise<AcceptResult[]> {
  const isPlain = submissions.every(
    ({ attachments, workspaceId }) => attachments.length === 0 && recentlyRefused.get(workspaceId) === undefined,
  )
  const stored = isPlain ? await storeInOneStatement(ctx.db, submissions, new Date(ctx.clock.now())) : null
  if (stored === null) return acceptStepByStep(ctx, submissions, recentlyRefused)
  scheduleStored(ctx, submissions, stored)
  return submissions.map(() => STORED)
}

/** Claims the keys, then counts the quota, then stores the remaining messages, in one transaction. */
async function acceptStepByStep(
  ctx: Context,
  submissions: readonly Submission[],
  recentlyRefused: TtlCache<true>,
): Promise<AcceptResult[]> {
  const results = new Map<Submission, AcceptResult>()
  const stored = await ctx.db.transaction(async (tx) => {
    const duplicates = await claimKeys(tx, submissions)
    const firsts = submissions.filter((submission) => !answerDuplicate(submission, duplicates, results))
    const refused = await consumeQuota(tx, firsts, new Date(ctx.clock.now()))
    await releaseKeys(tx, [...refused])
    for (const submission of firsts) results.set(submission, refused.has(submission) ? OVER_QUOTA : STORED)
    return storeAll(
      tx,
      firsts.filter((submission) => !refused.has(submission)),
    )
  })
  for (const { workspaceId } of submissions.filter((submission) => results.get(submission) !== STORED))
    recentlyRefused.set(workspaceId, true)
  scheduleStored(
    ctx,
    submissions.filter((submission) => results.get(submission) === STORED),
    stored,
  )
  return submissions.map((submission) => results.get(submission) ?? { kind: 'in-progress' })
}

function answerDuplicate(
  submission: Submission,
  duplicates: ReadonlyMap<string, AcceptResult>,
  results: Map<Submission, AcceptResult>,
): boolean {
  const result = hasIdempotencyKey(submission) ? duplicates.get(claimIdOf(submission)) : undefined
  if (result !== undefined) results.set(submission, result)
  return result !== undefined
}

function storeAll(tx: Queryable, submissions: readonly Submission[]): Promise<StoredBatch> {
  return submissions.length === 0
    ? Promise.resolve({ hasDeliveries: false, suppressed: new Set<string>() })
    : storeMessages(tx, submissions)
}

/** Runs after the commit and is not awaited: the worker schedules what is missing in Redis. */
function scheduleStored(ctx: Context, submissions: readonly Submission[], stored: StoredBatch): void {
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
