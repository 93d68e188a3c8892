/**
 * A message as its owner sees it: what was submitted, the state of each recipient, every attempt and the timeline of
 * events. Only the owner's workspace finds it.
 */
import type { Mailbox } from '#src/mail/address.ts'
import { idAt, timeOf } from '#src/platform/id.ts'
import type { Tier } from '#src/queue/tiers.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { MAX_CLOCK_SKEW_MS } from '#src/stores/weeks.ts'
import type { ColumnName, MessageRow } from './columns.ts'
import type { State } from './state.ts'
import { statusOf } from './status.ts'
import type { SubmittedEnvelope, TemplateReference } from './submission.ts'

export interface MessageView {
  readonly id: string
  readonly status: State
  readonly tier: Tier
  readonly from: Mailbox
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly subject: string
  readonly tags: readonly string[]
  readonly metadata: Record<string, unknown> | null
  /** The template it was made from. */
  readonly template: TemplateReference | null
  /** The campaign whose mail it is. */
  readonly campaignId: string | null
  /** The request, SMTP transaction, campaign or automation that it came from; null for mail of the server itself. */
  readonly requestId: string | null
  readonly scheduledAt: Date | null
  readonly timezone: string | null
  /** Its envelope, if it was submitted complete; null for a message that was made from fields. */
  readonly submitted: SubmittedEnvelope | null
  readonly createdAt: Date
  readonly recipients: readonly RecipientView[]
  readonly events: readonly EventView[]
}

export interface RecipientView {
  readonly address: string
  /** Where its mail goes: its domain, or the connected account that sends it. */
  readonly destination: string
  readonly kind: 'to' | 'cc' | 'bcc'
  readonly state: State
  /** Why it is in this state. */
  readonly reason: string | null
  readonly tries: number
  /** When it is due again; null when no attempt is due. */
  readonly nextTryAt: Date | null
  readonly updatedAt: Date
  readonly attempts: readonly AttemptView[]
}

export interface AttemptView {
  readonly attempt: number
  readonly at: Date
  readonly outcome: string
  readonly scope: string | null
  readonly reason: string | null
  readonly replyCode: number | null
  readonly replyStatus: string | null
  readonly replyText: string | null
  readonly host: string | null
  readonly address: string | null
  /** The source it left from; null: the system chose the address. */
  readonly source: string | null
  readonly tls: string | null
  readonly durationMs: number
  readonly conversation: string
}

export interface EventView {
  readonly id: string
  readonly type: string
  readonly sequence: number
  readonly recipient: string
  readonly data: Record<string, unknown> | null
  readonly createdAt: Date
}

interface RecipientRow {
  readonly n: number
  readonly address: string
  readonly domain: string
  readonly kind: 'to' | 'cc' | 'bcc'
  readonly state: State
  readonly is_open: boolean
  readonly reason: string | null
  readonly tries: number
  readonly due_at: Date
  readonly updated_at: Date
  readonly is_only: boolean
  readonly sequence: number
}

/** What of a message its owner sees, by the table of columns. */
const VIEWED = [
  'id',
  'tier',
  'from_email',
  'from_name',
  'to_list',
  'cc_list',
  'subject',
  'tags',
  'metadata',
  'campaign_id',
  'scheduled_at',
  'timezone',
  'created_at',
  'submitted',
  'request_id',
] as const satisfies readonly ColumnName[]

/** `template`: a message with deferred content has it there. */
const MESSAGE = sql`
  SELECT ${VIEWED.map((name) => `m.${name}`).join(', ')},
    coalesce(m.template, (
      SELECT jsonb_build_object('id', c.template_id, 'version', c.template_version)
      FROM mail_contents c
      WHERE c.id = m.content_id AND c.template_id IS NOT NULL
    )) AS template,
    m.event_count
  FROM messages m
  WHERE m.id = $1 AND m.workspace_id = $2`

const RECIPIENTS = sql`
  SELECT n, address, domain, kind, state, is_open, reason, tries, due_at, updated_at, is_only, sequence
  FROM recipients
  WHERE message_id = $1
  ORDER BY n`

const ATTEMPTS = sql`
  SELECT n, attempt, at, outcome, scope, reason, reply_code AS "replyCode", reply_status AS "replyStatus",
    reply_text AS "replyText", host, address, source, tls, duration_ms AS "durationMs", conversation
  FROM attempts
  WHERE message_id = $1
  ORDER BY n, attempt`

const EVENTS = sql`
  SELECT id, type, sequence, recipient, data, created_at AS "createdAt"
  FROM events
  WHERE message_id = $1 AND id >= $2 AND id < $3
  ORDER BY sequence`

/** Most messages have all of their events in this time. */
const USUAL_MS = 60 * 24 * 3600 * 1000
/** The time in an id has 48 bits. */
const MAX_TIME_MS = 2 ** 48 - 1
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Null when the workspace has no such message. One snapshot reads all of it. */
export function readMessage(db: Db, workspaceId: string, id: string): Promise<MessageView | null> {
  return db.snapshot((tx) => readParts(tx, workspaceId, id))
}

async function readParts(db: Queryable, workspaceId: string, id: string): Promise<MessageView | null> {
  const {
    rows: [row],
  } = await db.query<Pick<MessageRow, (typeof VIEWED)[number] | 'template' | 'event_count'>>(MESSAGE, [id, workspaceId])
  if (row === undefined) return null
  const { rows: stored } = await db.query<RecipientRow>(RECIPIENTS, [id])
  const recipients = await addAttempts(db, id, stored)
  const events = await readEvents(db, id, stored.find((one) => one.is_only)?.sequence ?? row.event_count)
  return {
    id,
    status: statusOf(recipients.map(({ state }) => state)),
    tier: row.tier,
    from: { email: row.from_email, name: row.from_name },
    to: row.to_list,
    cc: row.cc_list ?? [],
    subject: row.subject,
    tags: row.tags ?? [],
    metadata: row.metadata,
    template: row.template,
    campaignId: row.campaign_id,
    requestId: row.request_id,
    scheduledAt: row.scheduled_at,
    timezone: row.timezone,
    submitted: row.submitted,
    createdAt: row.created_at,
    recipients,
    events,
  }
}

async function addAttempts(db: Queryable, messageId: string, rows: readonly RecipientRow[]): Promise<RecipientView[]> {
  const attempts = await readAttempts(db, messageId)
  return rows.map((row) => ({
    address: row.address,
    destination: row.domain,
    kind: row.kind,
    state: row.state,
    reason: row.reason,
    tries: row.tries,
    nextTryAt: row.is_open && row.state !== 'sending' ? row.due_at : null,
    updatedAt: row.updated_at,
    attempts: attempts.get(row.n) ?? [],
  }))
}

async function readAttempts(db: Queryable, messageId: string): Promise<Map<number, AttemptView[]>> {
  const { rows } = await db.query<AttemptView & { n?: number }>(ATTEMPTS, [messageId])
  const byRecipient = new Map<number, AttemptView[]>()
  for (const { n = 0, ...attempt } of rows) byRecipient.set(n, [...(byRecipient.get(n) ?? []), attempt])
  return byRecipient
}

/**
 * The timeline of one message. Its events are younger than the message, so older weeks are not read, and the weeks
 * after the usual time only if not all of its `count` events are found.
 */
export async function readEvents(db: Queryable, messageId: string, count = Infinity): Promise<EventView[]> {
  const acceptedMs = timeOf(messageId)
  const from = idAt(Math.max(0, acceptedMs - MAX_CLOCK_SKEW_MS))
  const usual = idAt(Math.min(acceptedMs + USUAL_MS, MAX_TIME_MS))
  const { rows } = await db.query<EventView>(EVENTS, [messageId, from, usual])
  if (rows.length >= count) return rows
  const { rows: late } = await db.query<EventView>(EVENTS, [messageId, usual, LAST_ID])
  return [...rows, ...late].toSorted((a, b) => a.sequence - b.sequence)
}
