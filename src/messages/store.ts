/**
 * Writes a batch of new messages: bodies, recipients in their beginning state, first events, webhook deliveries, all in one statement.
 * Suppressed addresses are found here, in the same snapshot, at every way in: their recipients begin as `suppressed`.
 *
 * `storeAtOnce` takes the quota and the idempotency keys in the same statement, which is then the whole transaction. What stands in the way
 * of one message makes it write nothing at all; it is for the caller to sort that out, one step after the other.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { binaryColumnsOf, type Column } from '#src/binary-columns.ts'
import { prepared, type Queryable } from '#src/db.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId } from '#src/id.ts'
import { claimAtOnce, claimParameters, isKeyed, isKeyTaken } from './idempotency.ts'
import { isOverQuota, quotaParameters, takeAtOnce } from './quota.ts'
import { BEGINNINGS } from './state.ts'
import type { Addressee, Submission } from './submission.ts'

/** What is written of new messages; parameters $1 to $28 are those of `storeParameters`. */
const WRITES = `
new_messages AS (
  INSERT INTO messages (id, workspace_id, api_key_id, domain_id, tier, from_email, from_name, reply_to, to_list, cc_list, subject, html, body_text,
    headers, tags, metadata, has_attachments, content_size, track_opens, track_clicks, recipient_count, event_count, scheduled_at, timezone, expires_at, created_at,
    raw, submitted, template)
  SELECT id, workspace_id, api_key_id, domain_id, tier, from_email, rare ->> 'from_name', rare -> 'reply_to', to_list, rare -> 'cc_list', subject, html, body_text,
    rare -> 'headers', CASE WHEN rare ? 'tags' THEN ARRAY(SELECT jsonb_array_elements_text(rare -> 'tags')) END, rare -> 'metadata',
    coalesce((rare -> 'has_attachments')::boolean, false), content_size, (rare -> 'track_opens')::boolean, (rare -> 'track_clicks')::boolean,
    recipient_count, CASE WHEN recipient_count > 1 THEN recipient_count ELSE 0 END,
    (rare ->> 'scheduled_at')::timestamptz, rare ->> 'timezone', (rare ->> 'expires_at')::timestamptz, created_at, raw, rare -> 'submitted', rare -> 'template'
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::jsonb[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::smallint[],
    $13::timestamptz[], $14::jsonb[], $15::bytea[])
    AS i (id, workspace_id, api_key_id, domain_id, tier, from_email, to_list, subject, html, body_text, content_size, recipient_count, created_at, rare, raw)
  RETURNING 1
), new_tags AS (
  INSERT INTO message_tags (workspace_id, tag, message_id)
  SELECT DISTINCT i.workspace_id, tag, i.id
  FROM unnest($1::uuid[], $2::uuid[], $14::jsonb[]) AS i (id, workspace_id, rare) CROSS JOIN LATERAL jsonb_array_elements_text(i.rare -> 'tags') AS tag
  WHERE i.rare ? 'tags'
), begun AS MATERIALIZED (
  SELECT i.*, s.cause, s.kind AS cause_kind, CASE WHEN s.address IS NULL THEN i.wanted ELSE 'suppressed' END AS state
  FROM unnest($16::uuid[], $17::smallint[], $18::uuid[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::timestamptz[], $25::boolean[], $26::uuid[], $27::timestamptz[])
    AS i (message_id, n, workspace_id, tier, kind, address, domain, wanted, due_at, is_only, event_id, created_at)
  LEFT JOIN suppressions s ON s.workspace_id = i.workspace_id AND s.address = lower(i.address)
), new_recipients AS (
  INSERT INTO recipients (message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, sequence, reason, updated_at)
  SELECT message_id, n, workspace_id, tier, kind, address, domain, state, state <> 'suppressed', due_at, is_only, CASE WHEN is_only THEN 1 ELSE 0 END,
    CASE WHEN state = 'suppressed' THEN 'the address is on the suppression list: ' || cause END, created_at
  FROM begun
  RETURNING 1
), new_events AS (
  INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
  SELECT event_id, workspace_id, ($28::jsonb) ->> state, message_id, n, n + 1, address,
    CASE WHEN state = 'suppressed' THEN jsonb_build_object('reason', 'suppressed', 'cause', cause, 'cause_kind', cause_kind) END, created_at
  FROM begun
  RETURNING id, workspace_id, type, created_at
), ${newDeliveries('e.created_at')}`
const TOLD = `
SELECT (SELECT count(*) FROM new_deliveries) AS deliveries, ARRAY(SELECT message_id || ':' || n FROM begun WHERE state = 'suppressed') AS suppressed`

const STORE = prepared('messages-store', `WITH ${WRITES}${TOLD}`)

/** After these the counters are locked, until the commit and no longer: another batch of the same workspace writes meanwhile. */
const BEFORE_QUOTA = ['new_messages', 'new_recipients']
const STORE_AT_ONCE = prepared('messages-store-at-once', `WITH ${WRITES}, ${takeAtOnce(29, BEFORE_QUOTA)}${TOLD}`)
const STORE_KEYED = prepared(
  'messages-store-keyed',
  `WITH ${claimAtOnce(33)}, ${WRITES}, ${takeAtOnce(29, ['claimed', ...BEFORE_QUOTA])}${TOLD}`,
)

/** One at a time: a Buffer alone travels as it is, in an array it would be written out as hex. */
const ATTACH = prepared(
  'attachment-store',
  'INSERT INTO attachments (message_id, n, filename, content_type, content_id, content) VALUES ($1, $2, $3, $4, $5, $6)',
)

/** The one event a beginning gives, as JSON for the statement above. */
const FIRST_EVENTS = JSON.stringify(
  Object.fromEntries(Object.entries(BEGINNINGS).map(([state, [type]]) => [state, type])),
)

export interface Stored {
  readonly hasDeliveries: boolean
  /** `<message id>:<n>` of recipients that nothing will be sent to. */
  readonly suppressed: ReadonlySet<string>
}

interface NewRecipient extends Addressee {
  readonly submission: Submission
  readonly n: number
}

/** Characters. Once they were copied into a parameter and will be again into the connection: others get their turn in between. */
const COPIED_IN_A_TURN = 4 * 1024 * 1024

interface Told {
  readonly deliveries: number
  readonly suppressed: readonly string[]
}

/** Runs inside the accepting transaction. */
export async function storeMessages(tx: Queryable, submissions: readonly Submission[]): Promise<Stored> {
  const { rows } = await tx.query<Told>(STORE, storeParameters(submissions))
  for (const { id, attachments } of submissions)
    for (const [n, attachment] of attachments.entries())
      await tx.query(ATTACH, [
        id,
        n,
        attachment.filename,
        attachment.contentType,
        attachment.contentId,
        attachment.content,
      ])
  return storedOf(rows)
}

/**
 * Quota, keys and messages in one statement and one commit, for messages without attachments; null = nothing was written, because a quota is
 * reached or a key is taken. A key is in the batch at most once.
 */
export async function storeAtOnce(
  db: Queryable,
  submissions: readonly Submission[],
  now: Date,
): Promise<Stored | null> {
  const keyed = submissions.filter(isKeyed)
  const parameters = storeParameters(submissions)
  if (submissions.some((submission) => sizeOf(submission) > COPIED_IN_A_TURN)) await nextTurn()
  const values = [
    ...parameters,
    ...quotaParameters(submissions, now),
    ...(keyed.length > 0 ? claimParameters(keyed) : []),
  ]
  try {
    return storedOf((await db.query<Told>(keyed.length > 0 ? STORE_KEYED : STORE_AT_ONCE, values)).rows)
  } catch (error) {
    if (isOverQuota(error) || isKeyTaken(error)) return null
    throw error
  }
}

function storedOf([told]: readonly Told[]): Stored {
  return { hasDeliveries: (told?.deliveries ?? 0) > 0, suppressed: new Set(told?.suppressed) }
}

function sizeOf({ html, text, smtp, attachments }: Submission): number {
  return (
    (html?.length ?? 0) +
    (text?.length ?? 0) +
    (smtp?.raw?.length ?? 0) +
    attachments.reduce((sum, { content }) => sum + content.length, 0)
  )
}

/** In the order of the statement. */
const MESSAGE_COLUMNS: readonly Column<Submission>[] = [
  ['uuid', (s) => s.id],
  ['uuid', (s) => s.workspaceId],
  ['uuid', (s) => s.apiKeyId],
  ['uuid', (s) => s.domainId],
  ['text', (s) => s.tier],
  ['text', (s) => s.from.email],
  ['jsonb', (s) => JSON.stringify(s.to)],
  ['text', (s) => s.subject],
  ['text', (s) => s.html],
  ['text', (s) => s.text],
  ['integer', sizeOf],
  ['smallint', (s) => s.recipients.length],
  ['timestamptz', (s) => s.createdAt],
  ['jsonb', rareOf],
  ['bytea', (s) => s.smtp?.raw ?? null],
]
const RECIPIENT_COLUMNS: readonly Column<NewRecipient>[] = [
  ['uuid', (r) => r.submission.id],
  ['smallint', (r) => r.n],
  ['uuid', (r) => r.submission.workspaceId],
  ['text', (r) => r.submission.tier],
  ['text', (r) => r.kind],
  ['text', (r) => r.address],
  ['text', (r) => r.domain],
  ['text', (r) => (r.submission.scheduledAt === null ? 'queued' : 'scheduled')],
  ['timestamptz', (r) => r.submission.scheduledAt ?? r.submission.createdAt],
  ['boolean', (r) => r.submission.recipients.length === 1],
  ['uuid', (r) => newId(r.submission.createdAt.getTime())],
  ['timestamptz', (r) => r.submission.createdAt],
]

function storeParameters(submissions: readonly Submission[]): unknown[] {
  const recipients = submissions.flatMap((submission) =>
    submission.recipients.map((addressee, n): NewRecipient => ({ ...addressee, submission, n })),
  )
  return [
    ...binaryColumnsOf(submissions, MESSAGE_COLUMNS),
    ...binaryColumnsOf(recipients, RECIPIENT_COLUMNS),
    FIRST_EVENTS,
  ]
}

/** What most messages do not have travels as one object, which most messages do not have either. */
const RARE: Readonly<Record<string, (submission: Submission) => unknown>> = {
  from_name: (s) => s.from.name,
  reply_to: (s) => s.replyTo,
  cc_list: (s) => unlessEmpty(s.cc),
  headers: (s) => unlessEmpty(s.headers),
  tags: (s) => unlessEmpty(s.tags),
  metadata: (s) => s.metadata,
  has_attachments: (s) => s.attachments.length > 0 || null,
  track_opens: (s) => s.trackOpens,
  track_clicks: (s) => s.trackClicks,
  scheduled_at: (s) => s.scheduledAt,
  timezone: (s) => s.timezone,
  expires_at: (s) => s.expiresAt,
  submitted: (s) => s.smtp?.envelope ?? null,
  template: (s) => s.template ?? null,
}
const RARE_FIELDS = Object.entries(RARE)

function rareOf(submission: Submission): string | null {
  let rare: Record<string, unknown> | null = null
  for (const [name, pick] of RARE_FIELDS) {
    const value = pick(submission)
    if (value !== null) (rare ??= {})[name] = value
  }
  return rare === null ? null : JSON.stringify(rare)
}

function unlessEmpty(list: readonly unknown[]): readonly unknown[] | null {
  return list.length > 0 ? list : null
}
