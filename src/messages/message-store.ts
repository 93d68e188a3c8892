/**
 * Stores a batch of new messages: messages, recipients in their first state, first events and webhook deliveries, all
 * in one statement. It checks suppressions in the same snapshot, for every way of submission: recipients with a
 * suppressed address start as `suppressed`.
 *
 * Usually that statement also counts the quota and claims the idempotency keys, and is the whole transaction. If the
 * quota or a key rejects one message, nothing is stored; the batch is then stored step by step in a transaction: keys,
 * quota, messages.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createTtlCache } from '#src/concurrency/ttl-cache.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { claimIdOf, claimKeys, hasIdempotencyKey, isKeyTaken, releaseKeys } from './idempotency.ts'
import { consumeQuota, isQuotaExceeded } from './quota.ts'
import { ATTACH, batchStatement, STORE, storeParameters, type ResultRow } from './store-statements.ts'
import { contentSizeOf, type AcceptResult, type Submission } from './submission.ts'

export interface StoredBatch {
  readonly hasDeliveries: boolean
  /** `<message id>:<n>` of the suppressed recipients. */
  readonly suppressed: ReadonlySet<string>
}

/**
 * Characters. Copying more into parameters and to the connection takes long, so the event loop gets a turn in between.
 */
const MAX_COPIED_PER_TURN = 4 * 1024 * 1024

/**
 * Workspaces with a recently rejected message. A statement that is rolled back leaves dead rows in the tables, so their
 * messages are accepted step by step for this time.
 */
const RECENTLY_REFUSED = { max: 10_000, ttlMs: 1000 }

/** The result of each submission of a batch, in its order, and what was stored of it. */
export interface AcceptedBatch extends StoredBatch {
  readonly results: AcceptResult[]
}

const NOTHING_STORED: StoredBatch = { hasDeliveries: false, suppressed: new Set() }

/**
 * Returns a function that stores a batch in one statement, or step by step if a rejection is expected or the
 * attachments are large: then each goes to the server without a copy.
 */
export function createBatchStore({
  db,
  clock,
}: Pick<Context, 'db' | 'clock'>): (submissions: readonly Submission[]) => Promise<AcceptedBatch> {
  const recentlyRefused = createTtlCache<true>(clock, RECENTLY_REFUSED)
  return async (submissions) => {
    const isExpectedToFit =
      submissions.every(({ workspaceId }) => recentlyRefused.get(workspaceId) === undefined) &&
      attachedBytes(submissions) <= MAX_COPIED_PER_TURN
    const now = new Date(clock.now())
    const stored = isExpectedToFit ? await storeInOneStatement(db, submissions, now) : null
    if (stored !== null) return stored
    const batch = await db.transaction((tx) => storeStepByStep(tx, submissions, now), 'urgent')
    for (const [index, { workspaceId }] of submissions.entries())
      if (batch.results[index]?.kind !== 'stored') recentlyRefused.set(workspaceId, true)
    return batch
  }
}

/**
 * Stores quota, keys, messages and their attachments in one statement and one commit. Null: nothing was stored, because
 * a quota is reached or a key is already used. A key may be in the batch only once.
 */
async function storeInOneStatement(
  db: Queryable,
  submissions: readonly Submission[],
  now: Date,
): Promise<AcceptedBatch | null> {
  const isLarge = submissions.some((submission) => contentSizeOf(submission) > MAX_COPIED_PER_TURN)
  if (isLarge) await nextTurn() // the caller may just have built a complete message
  const { statement, values } = batchStatement(submissions, now)
  if (isLarge) await nextTurn()
  try {
    const { rows } = await db.query<ResultRow>(statement, values)
    const used = rows[0]?.quotaUsed ?? {}
    const results = submissions.map(({ workspaceId }): AcceptResult => ({
      kind: 'stored',
      quotaUsed: used[workspaceId] ?? 0,
    }))
    return { ...storedOf(rows), results }
  } catch (error) {
    if (isQuotaExceeded(error) || isKeyTaken(error)) return null
    throw error
  }
}

/** Claims the keys, then counts the quota, then stores the remaining messages. */
async function storeStepByStep(tx: Queryable, submissions: readonly Submission[], now: Date): Promise<AcceptedBatch> {
  const duplicates = await claimKeys(tx, submissions)
  const duplicateResultOf = (submission: Submission): AcceptResult | undefined =>
    hasIdempotencyKey(submission) ? duplicates.get(claimIdOf(submission)) : undefined
  const firsts = submissions.filter((submission) => duplicateResultOf(submission) === undefined)
  const { refused, used } = await consumeQuota(tx, firsts, now)
  await releaseKeys(tx, [...refused])
  const accepted = firsts.filter((submission) => !refused.has(submission))
  const stored = accepted.length === 0 ? NOTHING_STORED : await storeMessages(tx, accepted)
  const results = submissions.map(
    (submission): AcceptResult =>
      duplicateResultOf(submission) ?? {
        kind: refused.has(submission) ? 'over-quota' : 'stored',
        quotaUsed: used.get(submission.workspaceId) ?? 0,
      },
  )
  return { ...stored, results }
}

/** Stores messages, whatever their quota and key. Runs inside a transaction. */
export async function storeMessages(tx: Queryable, submissions: readonly Submission[]): Promise<StoredBatch> {
  const { rows } = await tx.query<ResultRow>(STORE, storeParameters(submissions))
  for (const submission of submissions) await storeAttachments(tx, submission)
  return storedOf(rows)
}

/** Stores the attachments of a message that has none. */
export async function storeAttachments(
  tx: Queryable,
  { id, attachments }: Pick<Submission, 'id' | 'attachments'>,
): Promise<void> {
  for (const [n, { filename, contentType, contentId, content }] of attachments.entries())
    await tx.query(ATTACH, [id, n, filename, contentType, contentId, content])
}

function attachedBytes(submissions: readonly Submission[]): number {
  let bytes = 0
  for (const { attachments } of submissions) for (const { content } of attachments) bytes += content.length
  return bytes
}

function storedOf([row]: readonly ResultRow[]): StoredBatch {
  return { hasDeliveries: (row?.deliveries ?? 0) > 0, suppressed: new Set(row?.suppressed) }
}
