/**
 * The way in: a message is ours once `accept` resolves with `stored`, and not before: the commit in PostgreSQL comes first, the answer after it.
 *
 * Calls that come together share one transaction and one commit, mostly one statement (`storeAtOnce`).
 * Dies here before the commit: nothing happened, the client has no answer. Dies after the commit: the message is stored and not yet scheduled; the worker finds it by comparing PostgreSQL with Redis.
 * Redis away: the same. PostgreSQL away: every waiting call rejects and nothing was promised; a commit whose answer was lost is a message
 * that the client may send again: its idempotency key is what prevents two.
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

// Two transactions at once keep the disk busy while the next batch gathers; more would only make the batches smaller.
const CONCURRENT_BATCHES = 2
const MAX_BATCH = 200
/** What an ordinary message has at most: see `weigh`. */
const RECIPIENTS_PER_UNIT = 5
const LENGTH_PER_UNIT = 32 * 1024
/** Workspaces with a message that was refused: what is written for nothing is dead weight in the tables, so it is not tried for so long. */
const RECENTLY_REFUSED = { max: 10_000, ttlMs: 1000 }

const STORED: AcceptResult = { kind: 'stored' }
const OVER_QUOTA: AcceptResult = { kind: 'over-quota' }

export interface Acceptor {
  /** @throws when PostgreSQL is away (`isDatabaseAway`): nothing is known to be stored. */
  accept(submission: Submission): Promise<AcceptResult>
  /** Resolves when all that was begun is answered. */
  drain(): Promise<void>
  readonly batches: { readonly count: number; readonly messages: number }
}

/** `gathering`: for callers whose answers are in no hurry, batches are larger and fewer. */
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

/** Many recipients and long texts are so much more to write that a batch of 200 of them would hold up everybody else. */
function weightOf({ recipients, html, text, smtp }: Submission): number {
  return Math.max(
    1,
    recipients.length / RECIPIENTS_PER_UNIT,
    ((html?.length ?? 0) + (text?.length ?? 0) + (smtp?.raw?.length ?? 0)) / LENGTH_PER_UNIT,
  )
}

/** At once where nothing is expected to stand in the way, and step by step where something does. */
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

/** Keys, then quota, then what is left to store, in one transaction. */
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

/** After the commit, and without waiting: Redis only reminds. */
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
