/**
 * The way in: a message is ours once `accept` resolves with `stored`, and not before: the commit in PostgreSQL comes first, the answer after it.
 *
 * Calls that come together share one transaction and one commit, mostly one statement (`storeAtOnce`).
 * Dies here before the commit: nothing happened, the client has no answer. Dies after the commit: the message is stored and not yet scheduled; the worker finds it by comparing PostgreSQL with Redis.
 * Redis away: the same. PostgreSQL away: every waiting call rejects and nothing was promised; a commit whose answer was lost is a message
 * that the client may send again: its idempotency key is what prevents two.
 */
import { createShelf, type Shelf } from '#src/concurrency/ttl-cache.ts'
import { type Bounds, createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { schedule, type Due } from '#src/queue/due-schedule.ts'
import { claimKeys, claimName, forgetKeys, isKeyed } from './idempotency.ts'
import { takeQuota } from './quota.ts'
import { storeAtOnce, storeMessages, type Stored } from './message-store.ts'
import type { Accepted, Submission } from './submission.ts'

// Two transactions at once keep the disk busy while the next batch gathers; more would only make the batches smaller.
const LANES = 2
const MAX_BATCH = 200
/** What an ordinary message has at most: see `weigh`. */
const RECIPIENTS_OF_ONE = 5
const LENGTH_OF_ONE = 32 * 1024
/** Workspaces with a message that was refused: what is written for nothing is dead weight in the tables, so it is not tried for so long. */
const TROUBLED = { max: 10_000, ttlMs: 1000 }

const STORED: Accepted = { kind: 'stored' }
const OVER_QUOTA: Accepted = { kind: 'over-quota' }

export interface Acceptor {
  /** @throws when PostgreSQL is away (`isDatabaseAway`): nothing is known to be stored. */
  accept(submission: Submission): Promise<Accepted>
  /** Resolves when all that was begun is answered. */
  drain(): Promise<void>
  readonly batches: { readonly count: number; readonly messages: number }
}

/** `gathering`: for callers whose answers are in no hurry, batches are larger and fewer. */
export function createAcceptor(ctx: Context, gathering: Pick<Bounds<Submission>, 'gatherMs' | 'crowd'> = {}): Acceptor {
  const batches = { count: 0, messages: 0 }
  const underWay = new Set<string>()
  const troubled = createShelf<true>(ctx.clock, TROUBLED)
  const batcher = createBatcher<Submission, Accepted>(
    async (submissions) => {
      batches.count++
      batches.messages += submissions.length
      return acceptBatch(ctx, submissions, troubled)
    },
    { max: MAX_BATCH, lanes: LANES, weigh, ...gathering },
  )

  async function acceptKeyed(submission: Submission, name: string): Promise<Accepted> {
    if (underWay.has(name)) return { kind: 'in-progress' }
    underWay.add(name)
    try {
      return await batcher.add(submission)
    } finally {
      underWay.delete(name)
    }
  }

  return {
    accept: (submission) =>
      isKeyed(submission) ? acceptKeyed(submission, claimName(submission)) : batcher.add(submission),
    drain: () => batcher.drain(),
    batches,
  }
}

/** Many recipients and long texts are so much more to write that a batch of 200 of them would hold up everybody else. */
function weigh({ recipients, html, text, smtp }: Submission): number {
  return Math.max(
    1,
    recipients.length / RECIPIENTS_OF_ONE,
    ((html?.length ?? 0) + (text?.length ?? 0) + (smtp?.raw?.length ?? 0)) / LENGTH_OF_ONE,
  )
}

/** At once where nothing is expected to stand in the way, and step by step where something does. */
async function acceptBatch(
  ctx: Context,
  submissions: readonly Submission[],
  troubled: Shelf<true>,
): Promise<Accepted[]> {
  const isPlain = submissions.every(
    ({ attachments, workspaceId }) => attachments.length === 0 && troubled.get(workspaceId) === undefined,
  )
  const stored = isPlain ? await storeAtOnce(ctx.db, submissions, new Date(ctx.clock.now())) : null
  if (stored === null) return sortOut(ctx, submissions, troubled)
  remind(ctx, submissions, stored)
  return submissions.map(() => STORED)
}

/** Keys, then quota, then what is left to store, in one transaction. */
async function sortOut(ctx: Context, submissions: readonly Submission[], troubled: Shelf<true>): Promise<Accepted[]> {
  const results = new Map<Submission, Accepted>()
  const stored = await ctx.db.transaction(async (tx) => {
    const second = await claimKeys(tx, submissions)
    const first = submissions.filter((submission) => !settleTwin(submission, second, results))
    const refused = await takeQuota(tx, first, new Date(ctx.clock.now()))
    await forgetKeys(tx, [...refused])
    for (const submission of first) results.set(submission, refused.has(submission) ? OVER_QUOTA : STORED)
    return storeAll(
      tx,
      first.filter((submission) => !refused.has(submission)),
    )
  })
  for (const { workspaceId } of submissions.filter((submission) => results.get(submission) !== STORED))
    troubled.put(workspaceId, true)
  remind(
    ctx,
    submissions.filter((submission) => results.get(submission) === STORED),
    stored,
  )
  return submissions.map((submission) => results.get(submission) ?? { kind: 'in-progress' })
}

function settleTwin(
  submission: Submission,
  second: ReadonlyMap<string, Accepted>,
  results: Map<Submission, Accepted>,
): boolean {
  const answer = isKeyed(submission) ? second.get(claimName(submission)) : undefined
  if (answer !== undefined) results.set(submission, answer)
  return answer !== undefined
}

function storeAll(tx: Queryable, submissions: readonly Submission[]): Promise<Stored> {
  return submissions.length === 0
    ? Promise.resolve({ hasDeliveries: false, suppressed: new Set<string>() })
    : storeMessages(tx, submissions)
}

/** After the commit, and without waiting: Redis only reminds. */
function remind(ctx: Context, submissions: readonly Submission[], stored: Stored): void {
  const due: Due[] = []
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
