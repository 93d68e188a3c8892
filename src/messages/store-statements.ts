/**
 * The statements that store a batch of new messages, and their parameters. Columns are arrays in PostgreSQL's binary
 * format, so a statement has the same parameters for any number of messages.
 */
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId } from '#src/platform/id.ts'
import { defineInput, type BinaryColumn } from '#src/stores/binary-columns.ts'
import { prepared, type Statement, urgent } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { joinSuppression } from '#src/suppression/erased.ts'
import { BODIES_ARE_APART, BODY_STORAGE } from './bodies.ts'
import { claimKeysCte, claimParameters, hasIdempotencyKey } from './idempotency.ts'
import { INSERT_COLUMNS, INSERT_VALUES, MESSAGE_INPUT } from './message-input.ts'
import { consumeQuotaCte, quotaParameters } from './quota.ts'
import { INITIAL_STATES } from './state.ts'
import type { Attachment, SubmittedRecipient, Submission } from './submission.ts'

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

interface NewAttachment extends Attachment {
  readonly messageId: string
  readonly n: number
}

const ATTACHMENT_INPUT: Readonly<Record<string, BinaryColumn<NewAttachment>>> = {
  message_id: ['uuid', (a) => a.messageId],
  n: ['smallint', (a) => a.n],
  filename: ['text', (a) => a.filename],
  content_type: ['text', (a) => a.contentType],
  content_id: ['text', (a) => a.contentId],
  content: ['bytea', (a) => a.content],
}

/** The parameters of the statements, in this order; the last two only where a statement has them. */
const MESSAGES = defineInput(1, MESSAGE_INPUT)
const RECIPIENTS = defineInput(MESSAGES.nextParameter, RECIPIENT_INPUT)
const FIRST_EVENTS_PARAMETER = RECIPIENTS.nextParameter
const QUOTA_PARAMETERS = FIRST_EVENTS_PARAMETER + 1
const AFTER_QUOTA = QUOTA_PARAMETERS + 4

const STORED_ROWS = sql`
  new_messages AS (
    INSERT INTO messages (${INSERT_COLUMNS})
    SELECT ${INSERT_VALUES}
    FROM ${MESSAGES.from('i')}
    CROSS JOIN ${BODY_STORAGE}
    RETURNING 1
  ), new_bodies AS (
    INSERT INTO message_bodies (message_id, html, body_text, raw, compressed)
    SELECT id, html, body_text, raw, compressed
    FROM ${MESSAGES.only('id', 'html', 'body_text', 'raw', 'compressed').from('i')}
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

/** Stores messages, with `storeParameters`, whatever their quota and key. */
export const STORE = prepared(
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

const ATTACHMENTS = defineInput(AFTER_QUOTA, ATTACHMENT_INPUT)
const NEW_ATTACHMENTS = sql`
  new_attachments AS (
    INSERT INTO attachments (${ATTACHMENTS.names})
    SELECT *
    FROM ${ATTACHMENTS.from('a')}
    RETURNING 1
  )`

interface BatchParts {
  readonly hasKeys: boolean
  readonly hasAttachments: boolean
}

/** The statement of a whole batch. What most batches do not have is only in the statements of those that have it. */
function storeAtOnce({ hasKeys, hasAttachments }: BatchParts): Statement {
  const keyParameters = hasAttachments ? ATTACHMENTS.nextParameter : AFTER_QUOTA
  const keys = hasKeys ? [claimKeysCte(keyParameters)] : []
  const attachments = hasAttachments ? [NEW_ATTACHMENTS] : []
  const beforeQuota = [...(hasKeys ? ['claimed'] : []), ...BEFORE_QUOTA, ...(hasAttachments ? ['new_attachments'] : [])]
  return urgent(
    `messages-store-at-once${hasKeys ? '-keyed' : ''}${hasAttachments ? '-attached' : ''}`,
    sql`
      WITH ${[...keys, STORED_ROWS, ...attachments, consumeQuotaCte(QUOTA_PARAMETERS, beforeQuota)].join(', ')}
      ${RESULT_WITH_QUOTA}`,
  )
}

const STORE_PLAIN = storeAtOnce({ hasKeys: false, hasAttachments: false })
const STORE_KEYED = storeAtOnce({ hasKeys: true, hasAttachments: false })
const STORE_ATTACHED = storeAtOnce({ hasKeys: false, hasAttachments: true })
const STORE_KEYED_ATTACHED = storeAtOnce({ hasKeys: true, hasAttachments: true })

function statementFor({ hasKeys, hasAttachments }: BatchParts): Statement {
  if (hasAttachments) return hasKeys ? STORE_KEYED_ATTACHED : STORE_ATTACHED
  return hasKeys ? STORE_KEYED : STORE_PLAIN
}

/** Stores one attachment, without a copy. */
export const ATTACH = prepared(
  'attachment-store',
  sql`
    INSERT INTO attachments (message_id, n, filename, content_type, content_id, content)
    VALUES ($1, $2, $3, $4, $5, $6)`,
)

/** The event of each initial state, as JSON for the statement. */
const FIRST_EVENTS = JSON.stringify(
  Object.fromEntries(Object.entries(INITIAL_STATES).map(([state, [type]]) => [state, type])),
)

/** The row that each statement returns. */
export interface ResultRow {
  readonly deliveries: number
  readonly suppressed: readonly string[]
  /** By workspace; only if the statement counted the quota. */
  readonly quotaUsed?: Readonly<Record<string, number>>
}

/** A statement with its parameters. */
export interface BatchStatement {
  readonly statement: Statement
  readonly values: unknown[]
}

/** The statement that stores a whole batch: quota, keys, messages and their attachments. */
export function batchStatement(submissions: readonly Submission[], now: Date): BatchStatement {
  const keyed = submissions.filter(hasIdempotencyKey)
  const attached = submissions.flatMap(({ id, attachments }) =>
    attachments.map((attachment, n): NewAttachment => ({ ...attachment, messageId: id, n })),
  )
  const parts = { hasKeys: keyed.length > 0, hasAttachments: attached.length > 0 }
  return {
    statement: statementFor(parts),
    values: [
      ...storeParameters(submissions),
      ...quotaParameters(submissions, now),
      ...(parts.hasAttachments ? ATTACHMENTS.parametersOf(attached) : []),
      ...(parts.hasKeys ? claimParameters(keyed) : []),
    ],
  }
}

export function storeParameters(submissions: readonly Submission[]): unknown[] {
  const recipients = submissions.flatMap((submission) =>
    submission.recipients.map((addressee, n): NewRecipient => ({ ...addressee, submission, n })),
  )
  return [...MESSAGES.parametersOf(submissions), ...RECIPIENTS.parametersOf(recipients), FIRST_EVENTS]
}
