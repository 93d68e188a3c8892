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
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId } from '#src/platform/id.ts'
import { prepared, type Queryable, urgent } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { joinSuppression } from '#src/suppression/erased.ts'
import { defineInput, type BinaryColumn } from '#src/stores/binary-columns.ts'
import { BODIES_ARE_APART, BODY_STORAGE } from './bodies.ts'
import {
  claimIdOf,
  claimKeys,
  claimKeysCte,
  claimParameters,
  hasIdempotencyKey,
  isKeyTaken,
  releaseKeys,
} from './idempotency.ts'
import { INSERT_COLUMNS, INSERT_VALUES, MESSAGE_INPUT } from './message-input.ts'
import { consumeQuota, consumeQuotaCte, isQuotaExceeded, quotaParameters } from './quota.ts'
import { INITIAL_STATES } from './state.ts'
import { contentSizeOf, type AcceptResult, type SubmittedRecipient, type Submission } from './submission.ts'

interface NewRecipient extends SubmittedRecipient {
  readonly submission: Submission
  readonly n: number
}

const RECIPIENT_INPUT: Readonly<Record<string, BinaryColumn<NewRecipient>>> = {
  message_id: ['uuid', (r) => r.submission.id],
  n: ['smallint', (r) => r.n],
  workspace_id: ['uuid', (r) => r.submission.workspaceId],
  tier: ['text', (r) => r.submission.tier],
  kind: ['text', (r) => r.kind],
  address: ['text', (r) => r.address],
  domain: ['text', (r) => r.domain],
  initial_state: ['text', (r) => (r.submission.scheduledAt === null ? 'queued' : 'scheduled')],
  due_at: ['timestamptz', (r) => r.submission.scheduledAt ?? r.submission.createdAt],
  is_only: ['boolean', (r) => r.submission.recipients.length === 1],
  event_id: ['uuid', (r) => newId(r.submission.createdAt.getTime())],
  created_at: ['timestamptz', (r) => r.submission.createdAt],
}

/** The parameters of the statements, in this order. */
const MESSAGES = defineInput(1, MESSAGE_INPUT)
const RECIPIENTS = defineInput(MESSAGES.nextParameter, RECIPIENT_INPUT)
const FIRST_EVENTS_PARAMETER = RECIPIENTS.nextParameter
const QUOTA_PARAMETERS = FIRST_EVENTS_PARAMETER + 1
const KEY_PARAMETERS = QUOTA_PARAMETERS + 4

const STORED_ROWS = sql`
  new_messages AS (
    INSERT INTO messages (${INSERT_COLUMNS})
    SELECT ${INSERT_VALUES}
    FROM ${MESSAGES.from('i')}
    CROSS JOIN ${BODY_STORAGE}
    RETURNING 1
  ), new_bodies AS (
    INSERT INTO message_bodies (message_id, html, body_text, raw)
    SELECT id, html, body_text, raw
    FROM ${MESSAGES.only('id', 'html', 'body_text', 'raw').from('i')}
    CROSS JOIN ${BODY_STORAGE}
    WHERE ${BODIES_ARE_APART}
  ), new_tags AS (
    INSERT INTO message_tags (workspace_id, tag, message_id)
    SELECT DISTINCT i.workspace_id, tag, i.id
    FROM ${MESSAGES.only('id', 'workspace_id', 'optional_fields').from('i')}
    CROSS JOIN LATERAL jsonb_array_elements_text(i.optional_fields -> 'tags') AS tag
    WHERE i.optional_fields ? 'tags'
  ), accepted AS MATERIALIZED (
    SELECT i.*, s.cause, s.kind AS cause_kind,
      CASE WHEN s.address IS NULL THEN i.initial_state ELSE 'suppressed' END AS state
    FROM ${RECIPIENTS.from('i')}
    ${joinSuppression({ workspaceId: 'i.workspace_id', address: 'i.address', tier: 'i.tier' })}
  ), new_recipients AS (
    INSERT INTO recipients (message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only,
      sequence, reason, updated_at)
    SELECT message_id, n, workspace_id, tier, kind, address, domain, state, state <> 'suppressed', due_at, is_only,
      CASE WHEN is_only THEN 1 ELSE 0 END,
      CASE WHEN state = 'suppressed' THEN 'the address is on the suppression list: ' || cause END,
      created_at
    FROM accepted
    RETURNING 1
  ), new_events AS (
    INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
    SELECT event_id, workspace_id, ($${FIRST_EVENTS_PARAMETER}::jsonb) ->> state, message_id, n, n + 1, address,
      CASE WHEN state = 'suppressed'
        THEN jsonb_build_object('reason', 'suppressed', 'cause', cause, 'cause_kind', cause_kind) END,
      created_at
    FROM accepted
    RETURNING id, workspace_id, type, created_at
  ), ${newDeliveries('e.created_at')}`

const RESULT = sql`
  SELECT (SELECT count(*) FROM new_deliveries) AS deliveries,
    ARRAY(SELECT message_id || ':' || n FROM accepted WHERE state = 'suppressed') AS suppressed`
const RESULT_WITH_QUOTA = sql`
  ${RESULT},
    (SELECT jsonb_object_agg(workspace_id, used) FROM consumed) AS "quotaUsed"`

const STORE = prepared(
  'messages-store',
  sql`
    WITH ${STORED_ROWS}
    ${RESULT}`,
)

/**
 * The quota counters are locked after these, only until the commit: until then other batches of the same workspace can
 * write.
 */
const BEFORE_QUOTA = ['new_messages', 'new_recipients']
const STORE_IN_ONE_STATEMENT = urgent(
  'messages-store-at-once',
  sql`
    WITH ${STORED_ROWS},
    ${consumeQuotaCte(QUOTA_PARAMETERS, BEFORE_QUOTA)}
    ${RESULT_WITH_QUOTA}`,
)
const STORE_KEYED = urgent(
  'messages-store-keyed',
  sql`
    WITH ${claimKeysCte(KEY_PARAMETERS)},
    ${STORED_ROWS},
    ${consumeQuotaCte(QUOTA_PARAMETERS, ['claimed', ...BEFORE_QUOTA])}
    ${RESULT_WITH_QUOTA}`,
)

/** One attachment per statement: a single Buffer is sent as binary, in an array it would be sent as hex. */
const ATTACH = prepared(
  'attachment-store',
  sql`
    INSERT INTO attachments (message_id, n, filename, content_type, content_id, content)
    VALUES ($1, $2, $3, $4, $5, $6)`,
)

/** The event of each initial state, as JSON for the statement. */
const FIRST_EVENTS = JSON.stringify(
  Object.fromEntries(Object.entries(INITIAL_STATES).map(([state, [type]]) => [state, type])),
)

export interface StoredBatch {
  readonly hasDeliveries: boolean
  /** `<message id>:<n>` of the suppressed recipients. */
  readonly suppressed: ReadonlySet<string>
}

interface ResultRow {
  readonly deliveries: number
  readonly suppressed: readonly string[]
  /** By workspace; only if the statement counted the quota. */
  readonly quotaUsed?: Readonly<Record<string, number>>
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

/** Returns a function that stores a batch in one statement if no rejection is expected, otherwise step by step. */
export function createBatchStore({
  db,
  clock,
}: Pick<Context, 'db' | 'clock'>): (submissions: readonly Submission[]) => Promise<AcceptedBatch> {
  const recentlyRefused = createTtlCache<true>(clock, RECENTLY_REFUSED)
  return async (submissions) => {
    const isPlain = submissions.every(
      ({ attachments, workspaceId }) => attachments.length === 0 && recentlyRefused.get(workspaceId) === undefined,
    )
    const now = new Date(clock.now())
    const stored = isPlain ? await storeInOneStatement(db, submissions, now) : null
    if (stored !== null) return stored
    const batch = await db.transaction((tx) => storeStepByStep(tx, submissions, now), 'urgent')
    for (const [index, { workspaceId }] of submissions.entries())
      if (batch.results[index]?.kind !== 'stored') recentlyRefused.set(workspaceId, true)
    return batch
  }
}

/**
 * Stores quota, keys and messages in one statement and one commit, for messages without attachments. Null: nothing was
 * stored, because a quota is reached or a key is already used. A key may be in the batch only once.
 */
async function storeInOneStatement(
  db: Queryable,
  submissions: readonly Submission[],
  now: Date,
): Promise<AcceptedBatch | null> {
  const keyed = submissions.filter(hasIdempotencyKey)
  const isLarge = submissions.some((submission) => contentSizeOf(submission) > MAX_COPIED_PER_TURN)
  if (isLarge) await nextTurn() // the caller may just have built a complete message
  const parameters = storeParameters(submissions)
  if (isLarge) await nextTurn()
  const values = [
    ...parameters,
    ...quotaParameters(submissions, now),
    ...(keyed.length > 0 ? claimParameters(keyed) : []),
  ]
  try {
    const { rows } = await db.query<ResultRow>(keyed.length > 0 ? STORE_KEYED : STORE_IN_ONE_STATEMENT, values)
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

function storedOf([row]: readonly ResultRow[]): StoredBatch {
  return { hasDeliveries: (row?.deliveries ?? 0) > 0, suppressed: new Set(row?.suppressed) }
}

function storeParameters(submissions: readonly Submission[]): unknown[] {
  const recipients = submissions.flatMap((submission) =>
    submission.recipients.map((addressee, n): NewRecipient => ({ ...addressee, submission, n })),
  )
  return [...MESSAGES.parametersOf(submissions), ...RECIPIENTS.parametersOf(recipients), FIRST_EVENTS]
}
