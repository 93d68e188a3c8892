/**
 * Changes a scheduled message: everything that a send accepts. Possible until 30 s before its time, while no recipient
 * has left for the queue. All of a change is one transaction: it is complete, or nothing changed.
 *
 * The rows of the recipients are locked first, beginning with the first one, so that two changes, or a change and a
 * cancellation, follow each other. A claim of an outbound process waits for the rows and then checks the due time
 * again. It reads the content of the message as of its own start, though, so a claim that started before the change
 * could send the old content. The 30 s exclude that: a claim takes only what is due within a second, and a change that
 * is not finished 10 s before the time is rolled back. If the process dies after the commit, the schedule in Redis has
 * the old time: an entry that comes too early is not claimed, and what is overdue is found by the reconciliation.
 */
import type { Context } from '#src/context.ts'
import { schedule } from '#src/queue/due-schedule.ts'
import { NO_NOTIFICATIONS } from '#src/queue/notifications.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { recordChange } from '#src/stores/audit.ts'
import { isTransactionConflict, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { type Weeks, weeksOf } from '#src/stores/weeks.ts'
import { bodyColumn, joinBody } from './bodies.ts'
import { changeRecipients, type RecipientsChange, type StoredRecipient } from './change-recipients.ts'
import { isQuotaExceeded } from './quota.ts'
import { listRecipients, uniqueHeaderLists, type RecipientLists } from './recipient-lists.ts'
import type { Attachment, SubmittedRecipient } from './submission.ts'
import { updateContentSize, replaceAttachments, writeFields, type ChangedFields } from './write-scheduled.ts'

export interface ScheduledChange {
  /** The From that the key was checked for. If the message has another one by then, nothing changes. */
  readonly from: string
  /** The fields to write; a field that is absent stays. */
  readonly fields: ChangedFields
  /** Null: they stay. */
  readonly attachments: readonly Attachment[] | null
  /** Null: the sender and the recipients stay. */
  readonly addressing: ChangedAddressing | null
  /** The most bytes of the texts and attachments. */
  readonly maxBytes: number
}

/** The sender and the recipients, and what the key that changes them may do. */
export interface ChangedAddressing {
  /** The new From; null: it stays. */
  readonly newFrom: Mailbox | null
  readonly domainId: string | null
  readonly apiKeyId: string | null
  /** Lists that are null stay. */
  readonly lists: { readonly [K in keyof RecipientLists]: RecipientLists[K] | null }
  readonly destinationFor: (address: string) => string
  readonly maxRecipients: number
  readonly quota: number | null
}

/** Why a message was not changed. */
export type ChangeRefusal =
  | 'not-found'
  /** It is due within 30 s, it was cancelled, or a recipient has left for the queue. */
  | 'gone'
  /** Another request changed its sender at the same moment. */
  | 'changed-meanwhile'
  /** The message expires before its new time. */
  | 'expires'
  /** It was submitted complete, so its content cannot be changed. */
  | 'is-complete'
  | 'no-recipient'
  | 'too-many-recipients'
  | 'too-large'
  | 'over-quota'

export type ChangeScheduledResult = 'changed' | ChangeRefusal

interface MessageKey {
  readonly workspaceId: string
  readonly id: string
}

interface LockedRow extends StoredRecipient {
  readonly tier: Tier
  readonly isFar: boolean
  readonly dueAt: Date
  readonly subject: string
  readonly from: string
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[] | null
  readonly isComplete: boolean
  readonly scheduledAt: Date
  readonly expiresAt: Date | null
}

/** The first recipient is never deleted, so a change waits here for the one before it. */
export const LOCK_FIRST_RECIPIENT = sql`
  SELECT FROM recipients r
  JOIN messages m ON m.id = r.message_id
  WHERE r.message_id = $1 AND r.n = 0 AND m.workspace_id = $2 AND m.scheduled_at IS NOT NULL
  FOR NO KEY UPDATE OF r
`

const LOCK = (weeks: Weeks): string => sql`
  SELECT r.n, r.state, r.tier, r.kind, r.address, r.domain, r.is_only AS "isOnly", r.sequence, r.due_at AS "dueAt",
    r.due_at > clock_timestamp() + interval '30 seconds' AS "isFar", m.subject, m.from_email AS "from",
    m.to_list AS "to", m.cc_list AS cc, ${bodyColumn('raw')} IS NOT NULL AS "isComplete",
    m.scheduled_at AS "scheduledAt", m.expires_at AS "expiresAt"
  FROM messages m
  JOIN recipients r ON r.message_id = m.id AND ${weeks.contain('r.message_id')}
  ${joinBody(weeks)}
  WHERE m.id = $1 AND ${weeks.contain('m.id')} AND m.workspace_id = $2 AND m.scheduled_at IS NOT NULL
  ORDER BY r.n
  FOR NO KEY UPDATE OF r
`

/** Rolls the transaction back. */
class RefusedChange extends Error {
  readonly result: ChangeRefusal

  constructor(result: ChangeRefusal) {
    super(result)
    this.result = result
  }
}

export async function changeScheduled(
  ctx: Context,
  key: MessageKey,
  change: ScheduledChange,
): Promise<ChangeScheduledResult> {
  const attempt = (): Promise<AppliedChange> => ctx.db.transaction((tx) => applyChange(tx, key, change))
  try {
    const applied = await attempt().catch((error: unknown) => {
      if (!isTransactionConflict(error)) throw error
      return attempt()
    })
    scheduleAgain(ctx, key, applied)
    return 'changed'
  } catch (error) {
    if (error instanceof RefusedChange) return error.result
    if (isQuotaExceeded(error)) return 'over-quota'
    throw error
  }
}

interface AppliedChange {
  readonly tier: Tier
  readonly dueAt: Date
  readonly waiting: readonly (SubmittedRecipient & { readonly n: number })[]
  readonly recipients: RecipientsChange | null
}

/** @throws RefusedChange, or an error for which `isQuotaExceeded` is true. */
async function applyChange(tx: Queryable, key: MessageKey, change: ScheduledChange): Promise<AppliedChange> {
  await tx.query(LOCK_FIRST_RECIPIENT, [key.id, key.workspaceId])
  const { rows } = await tx.query<LockedRow>(LOCK(weeksOf([key.id])), [key.id, key.workspaceId])
  const [first] = rows
  if (first === undefined) throw new RefusedChange('not-found')
  const refusal = checkChange(rows, first, change)
  if (refusal !== null) throw new RefusedChange(refusal)
  const addressing = change.addressing === null ? null : resolveAddressing(rows, first, change.addressing)
  const fields = { ...change.fields, ...addressing?.fields }
  const tier = fields.tier ?? first.tier
  const dueAt = fields.scheduled_at ?? first.scheduledAt
  await writeFields(tx, key.id, fields)
  await tx.query(
    `UPDATE recipients SET due_at = $2, tier = $3, updated_at = now() WHERE message_id = $1 AND state = 'scheduled'`,
    [key.id, dueAt, tier],
  )
  if (change.attachments !== null) await replaceAttachments(tx, key.id, change.attachments)
  if ((await updateContentSize(tx, key.id)) > change.maxBytes) throw new RefusedChange('too-large')
  const recipients =
    addressing === null
      ? null
      : await changeRecipients(tx, { ...key, tier, dueAt, before: rows, ...addressing, quota: addressing.quota })
  await recordScheduledChange(tx, key, { first, fields, change, recipients })
  await requireTimeLeft(tx, first.dueAt)
  const waiting = recipients?.waiting ?? rows.filter(({ state }) => state === 'scheduled')
  return { tier, dueAt, waiting, recipients }
}

/** Fields of the content, which a complete message has in its octets. */
const CONTENT_FIELDS = ['subject', 'html', 'body_text', 'reply_to', 'headers'] as const

function checkChange(rows: readonly LockedRow[], first: LockedRow, change: ScheduledChange): ChangeRefusal | null {
  const { fields, attachments, addressing } = change
  const open = rows.filter(({ state }) => state !== 'suppressed' && state !== 'cancelled')
  if (open.length === 0 || !open.every(({ state, isFar }) => state === 'scheduled' && isFar)) return 'gone'
  const changesContent =
    addressing !== null || attachments !== null || CONTENT_FIELDS.some((name) => fields[name] !== undefined)
  if (first.isComplete && changesContent) return 'is-complete'
  if (change.from !== first.from) return 'changed-meanwhile'
  const expiresAt = fields.expires_at === undefined ? first.expiresAt : fields.expires_at
  return expiresAt !== null && expiresAt <= (fields.scheduled_at ?? first.scheduledAt) ? 'expires' : null
}

interface ResolvedAddressing {
  readonly wanted: readonly SubmittedRecipient[]
  readonly quota: number | null
  readonly fields: ChangedFields
}

/** The lists that result, with those that stay. @throws RefusedChange. */
function resolveAddressing(
  rows: readonly LockedRow[],
  { to, cc }: LockedRow,
  { lists, newFrom, domainId, apiKeyId, destinationFor, maxRecipients, quota }: ChangedAddressing,
): ResolvedAddressing {
  const hidden = rows.filter(({ kind, state }) => kind === 'bcc' && (state === 'scheduled' || state === 'suppressed'))
  const all = {
    to: lists.to ?? to,
    cc: lists.cc ?? cc ?? [],
    bcc: lists.bcc ?? hidden.map(({ address }) => ({ email: address, name: null })),
  }
  if (all.to.length === 0) throw new RefusedChange('no-recipient')
  const wanted = listRecipients(all, destinationFor)
  if (wanted.length > maxRecipients) throw new RefusedChange('too-many-recipients')
  const header = uniqueHeaderLists(all, wanted)
  return {
    wanted,
    quota,
    fields: {
      to_list: header.to,
      cc_list: header.cc.length > 0 ? header.cc : null,
      domain_id: domainId,
      api_key_id: apiKeyId,
      ...(newFrom === null ? {} : { from_email: newFrom.email, from_name: newFrom.name }),
    },
  }
}

interface RecordedParts {
  readonly first: LockedRow
  readonly fields: ChangedFields
  readonly change: ScheduledChange
  readonly recipients: RecipientsChange | null
}

/** Names what changed; a body, a file or a list of addresses is named only. */
async function recordScheduledChange(
  tx: Queryable,
  { id, workspaceId }: MessageKey,
  { first, fields, change, recipients }: RecordedParts,
): Promise<void> {
  const names = Object.keys(fields).filter((name) => !SHOWN.has(name))
  const changed = [...names, ...(change.attachments === null ? [] : ['attachments'])]
  await recordChange(tx, {
    kind: 'mail',
    object: id,
    workspaceId,
    change: 'update',
    before: { scheduled_at: first.scheduledAt.toISOString(), subject: first.subject, from: first.from },
    after: {
      scheduled_at: (fields.scheduled_at ?? first.scheduledAt).toISOString(),
      subject: fields.subject ?? first.subject,
      from: fields.from_email ?? first.from,
      ...(changed.length === 0 ? {} : { changed }),
      ...(recipients === null ? {} : { recipients_added: recipients.added, recipients_removed: recipients.removed }),
    },
  })
}

const SHOWN: ReadonlySet<string> = new Set([
  'scheduled_at',
  'timezone',
  'subject',
  'from_email',
  'from_name',
  'domain_id',
  'api_key_id',
])

/** @throws RefusedChange if the old time is too near for the commit. */
async function requireTimeLeft(tx: Queryable, dueAt: Date): Promise<void> {
  const { rows } = await tx.query<{ isFar: boolean }>(
    `SELECT $1::timestamptz > clock_timestamp() + interval '10 seconds' AS "isFar"`,
    [dueAt],
  )
  if (rows[0]?.isFar !== true) throw new RefusedChange('gone')
}

function scheduleAgain(
  ctx: Context,
  { id, workspaceId }: MessageKey,
  { tier, dueAt, waiting, recipients }: AppliedChange,
): void {
  const due = waiting.map(({ n, domain }) => ({
    messageId: id,
    n,
    workspaceId,
    tier,
    domain,
    dueMs: dueAt.getTime(),
  }))
  schedule(ctx, due, recipients ?? NO_NOTIFICATIONS)
}
