/** A message as its owner sees it: what was asked, what became of each recipient, every attempt and the timeline of events. Only the owner's workspace finds it. */
import type { Db, Queryable } from '#src/db.ts'
import { idAt, timeOf } from '#src/id.ts'
import type { Tier } from '#src/queue/tiers.ts'
import type { State } from './state.ts'
import { statusOf } from './status.ts'
import type { Mailbox, TemplateUse } from './submission.ts'

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
  /** The template that it was made from. */
  readonly template: TemplateUse | null
  /** The campaign whose mail it is. */
  readonly campaignId: string | null
  readonly scheduledAt: Date | null
  readonly timezone: string | null
  readonly createdAt: Date
  readonly recipients: readonly RecipientView[]
  readonly events: readonly EventView[]
}

export interface RecipientView {
  readonly address: string
  /** Where its mail goes: its domain, or the connected account that it leaves through. */
  readonly destination: string
  readonly kind: 'to' | 'cc' | 'bcc'
  readonly state: State
  /** Why it is in this state. */
  readonly reason: string | null
  readonly tries: number
  /** When it is due again; null when it is settled. */
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
  /** The egress source that it left by; null: the system chose. */
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

interface MessageRow {
  readonly id: string
  readonly tier: Tier
  readonly from_email: string
  readonly from_name: string | null
  readonly to_list: Mailbox[]
  readonly cc_list: Mailbox[] | null
  readonly subject: string
  readonly tags: string[] | null
  readonly metadata: Record<string, unknown> | null
  readonly template: TemplateUse | null
  readonly campaign_id: string | null
  readonly scheduled_at: Date | null
  readonly timezone: string | null
  readonly created_at: Date
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
}

/** Null when the workspace has no such message. All of it is of one moment. */
export function readMessage(db: Db, workspaceId: string, id: string): Promise<MessageView | null> {
  return db.snapshot((tx) => readParts(tx, workspaceId, id))
}

/** A recipe has it in its content. */
const TEMPLATE = `coalesce(template, (SELECT jsonb_build_object('id', c.template_id, 'version', c.template_version)
  FROM mail_contents c WHERE c.id = content_id AND c.template_id IS NOT NULL))`

async function readParts(db: Queryable, workspaceId: string, id: string): Promise<MessageView | null> {
  const {
    rows: [row],
  } = await db.query<MessageRow>(
    `SELECT id, tier, from_email, from_name, to_list, cc_list, subject, tags, metadata, ${TEMPLATE} AS template, campaign_id, scheduled_at, timezone, created_at FROM messages WHERE id = $1 AND workspace_id = $2`,
    [id, workspaceId],
  )
  if (row === undefined) return null
  const recipients = await readRecipients(db, id)
  const events = await readEvents(db, id)
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
    scheduledAt: row.scheduled_at,
    timezone: row.timezone,
    createdAt: row.created_at,
    recipients,
    events,
  }
}

async function readRecipients(db: Queryable, messageId: string): Promise<RecipientView[]> {
  const { rows } = await db.query<RecipientRow>(
    'SELECT n, address, domain, kind, state, is_open, reason, tries, due_at, updated_at FROM recipients WHERE message_id = $1 ORDER BY n',
    [messageId],
  )
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
  const { rows } = await db.query<AttemptView & { n?: number }>(
    `SELECT n, attempt, at, outcome, scope, reason, reply_code AS "replyCode", reply_status AS "replyStatus", reply_text AS "replyText", host, address, source, tls,
       duration_ms AS "durationMs", conversation FROM attempts WHERE message_id = $1 ORDER BY n, attempt`,
    [messageId],
  )
  const byRecipient = new Map<number, AttemptView[]>()
  for (const { n = 0, ...attempt } of rows) byRecipient.set(n, [...(byRecipient.get(n) ?? []), attempt])
  return byRecipient
}

/** The timeline of one message. Its events are younger than it: older partitions are not looked at. */
export async function readEvents(db: Queryable, messageId: string): Promise<EventView[]> {
  const { rows } = await db.query<EventView>(
    `SELECT id, type, sequence, recipient, data, created_at AS "createdAt" FROM events WHERE message_id = $1 AND id >= $2 ORDER BY sequence`,
    [messageId, idAt(timeOf(messageId) - 1000)],
  )
  return rows
}
