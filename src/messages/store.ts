/**
 * Writes a batch of new messages: bodies, recipients in their beginning state, first events, webhook deliveries, all in one statement.
 * Suppressed addresses are found here, in the same snapshot, at every way in: their recipients begin as `suppressed`.
 */
import { columnsOf, jsonOrNull } from '#src/columns.ts'
import { prepared, type Queryable } from '#src/db.ts'
import { newId } from '#src/id.ts'
import { BEGINNINGS } from './state.ts'
import type { Addressee, Submission } from './submission.ts'

const STORE = prepared('messages-store', `
WITH new_messages AS (
  INSERT INTO messages (id, workspace_id, api_key_id, domain_id, tier, from_email, from_name, reply_to, to_list, cc_list, subject, html, body_text,
    headers, tags, metadata, has_attachments, content_size, track_opens, track_clicks, recipient_count, event_count, scheduled_at, timezone, expires_at, created_at)
  SELECT id, workspace_id, api_key_id, domain_id, tier, from_email, from_name, reply_to::jsonb, to_list::jsonb, cc_list::jsonb, subject, html, body_text,
    headers::jsonb, CASE WHEN tags IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(tags::jsonb)) END, metadata::jsonb, has_attachments, content_size, track_opens, track_clicks,
    recipient_count, CASE WHEN recipient_count > 1 THEN recipient_count ELSE 0 END, scheduled_at, timezone, expires_at, created_at
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
    $14::text[], $15::text[], $16::text[], $17::boolean[], $18::integer[], $19::boolean[], $20::boolean[], $21::smallint[], $22::timestamptz[], $23::text[], $24::timestamptz[], $25::timestamptz[])
    AS i (id, workspace_id, api_key_id, domain_id, tier, from_email, from_name, reply_to, to_list, cc_list, subject, html, body_text,
      headers, tags, metadata, has_attachments, content_size, track_opens, track_clicks, recipient_count, scheduled_at, timezone, expires_at, created_at)
), new_tags AS (
  INSERT INTO message_tags (workspace_id, tag, message_id)
  SELECT DISTINCT i.workspace_id, tag, i.id
  FROM unnest($1::uuid[], $2::uuid[], $15::text[]) AS i (id, workspace_id, tags) CROSS JOIN LATERAL jsonb_array_elements_text(i.tags::jsonb) AS tag
  WHERE i.tags IS NOT NULL
), begun AS MATERIALIZED (
  SELECT i.*, s.cause, s.kind AS cause_kind, CASE WHEN s.address IS NULL THEN i.wanted ELSE 'suppressed' END AS state
  FROM unnest($26::uuid[], $27::smallint[], $28::uuid[], $29::text[], $30::text[], $31::text[], $32::text[], $33::text[], $34::timestamptz[], $35::boolean[], $36::uuid[], $37::timestamptz[])
    AS i (message_id, n, workspace_id, tier, kind, address, domain, wanted, due_at, is_only, event_id, created_at)
  LEFT JOIN suppressions s ON s.workspace_id = i.workspace_id AND s.address = lower(i.address)
), new_recipients AS (
  INSERT INTO recipients (message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, sequence, reason, updated_at)
  SELECT message_id, n, workspace_id, tier, kind, address, domain, state, state <> 'suppressed', due_at, is_only, CASE WHEN is_only THEN 1 ELSE 0 END,
    CASE WHEN state = 'suppressed' THEN 'the address is on the suppression list: ' || cause END, created_at
  FROM begun
), new_events AS (
  INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
  SELECT event_id, workspace_id, ($38::jsonb) ->> state, message_id, n, n + 1, address,
    CASE WHEN state = 'suppressed' THEN jsonb_build_object('reason', 'suppressed', 'cause', cause, 'cause_kind', cause_kind) END, created_at
  FROM begun
  RETURNING id, workspace_id, type, created_at
), new_deliveries AS (
  INSERT INTO webhook_deliveries (event_id, endpoint_id, workspace_id, due_at)
  SELECT e.id, w.id, e.workspace_id, e.created_at
  FROM new_events e JOIN webhook_endpoints w ON w.workspace_id = e.workspace_id AND w.is_active AND w.event_types && ARRAY['*', e.type]
  RETURNING 1
)
SELECT (SELECT count(*) FROM new_deliveries) AS deliveries, ARRAY(SELECT message_id || ':' || n FROM begun WHERE state = 'suppressed') AS suppressed`)

/** One at a time: a Buffer alone travels as it is, in an array it would be written out as hex. */
const ATTACH = prepared('attachment-store', 'INSERT INTO attachments (message_id, n, filename, content_type, content_id, content) VALUES ($1, $2, $3, $4, $5, $6)')

/** The one event a beginning gives, as JSON for the statement above. */
const FIRST_EVENTS = JSON.stringify(Object.fromEntries(Object.entries(BEGINNINGS).map(([state, [type]]) => [state, type])))

export interface Stored {
  readonly hasDeliveries: boolean
  /** `<message id>:<n>` of recipients that nothing will be sent to. */
  readonly suppressed: ReadonlySet<string>
}

interface NewRecipient extends Addressee {
  readonly submission: Submission
  readonly n: number
}

/** Runs inside the accepting transaction. */
export async function storeMessages(tx: Queryable, submissions: readonly Submission[]): Promise<Stored> {
  const recipients = submissions.flatMap((submission) => submission.recipients.map((addressee, n): NewRecipient => ({ ...addressee, submission, n })))
  const { rows } = await tx.query<{ deliveries: number; suppressed: string[] }>(STORE, [...messageColumns(submissions), ...recipientColumns(recipients), FIRST_EVENTS])
  for (const { id, attachments } of submissions)
    for (const [n, attachment] of attachments.entries()) await tx.query(ATTACH, [id, n, attachment.filename, attachment.contentType, attachment.contentId, attachment.content])
  return { hasDeliveries: (rows[0]?.deliveries ?? 0) > 0, suppressed: new Set(rows[0]?.suppressed) }
}

function sizeOf({ html, text, attachments }: Submission): number {
  return (html?.length ?? 0) + (text?.length ?? 0) + attachments.reduce((sum, { content }) => sum + content.length, 0)
}

function messageColumns(submissions: readonly Submission[]): unknown[][] {
  return columnsOf(submissions, [
    (s) => s.id, (s) => s.workspaceId, (s) => s.apiKeyId, (s) => s.domainId, (s) => s.tier, (s) => s.from.email, (s) => s.from.name,
    (s) => jsonOrNull(s.replyTo), (s) => JSON.stringify(s.to), (s) => s.cc.length > 0 ? JSON.stringify(s.cc) : null, (s) => s.subject, (s) => s.html, (s) => s.text,
    (s) => s.headers.length > 0 ? JSON.stringify(s.headers) : null, (s) => s.tags.length > 0 ? JSON.stringify(s.tags) : null, (s) => jsonOrNull(s.metadata),
    (s) => s.attachments.length > 0, sizeOf, (s) => s.trackOpens, (s) => s.trackClicks, (s) => s.recipients.length,
    (s) => s.scheduledAt, (s) => s.timezone, (s) => s.expiresAt, (s) => s.createdAt,
  ])
}

function recipientColumns(recipients: readonly NewRecipient[]): unknown[][] {
  return columnsOf(recipients, [
    (r) => r.submission.id, (r) => r.n, (r) => r.submission.workspaceId, (r) => r.submission.tier, (r) => r.kind, (r) => r.address, (r) => r.domain,
    (r) => r.submission.scheduledAt === null ? 'queued' : 'scheduled', (r) => r.submission.scheduledAt ?? r.submission.createdAt, (r) => r.submission.recipients.length === 1,
    (r) => newId(r.submission.createdAt.getTime()), (r) => r.submission.createdAt,
  ])
}
