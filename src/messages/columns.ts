/**
 * The columns of the table `messages`, one row each. The statement that stores messages, its parameters, the list that
 * the claim selects, the type of a claimed recipient and the code that fills it are built from this table.
 *
 * Columns with `isBody` are columns of `message_bodies` as well: the body is there if the message `has_body_row`. In
 * `messages` are the bodies of mail that was accepted before (src/messages/bodies.ts).
 *
 * To add a column: write a migration, add a row here, use the column. `pick` stores it when a message is accepted, and
 * says where its value is in the submission. `recipient` or `content` loads it with the claim, into a field of that
 * name of the claimed recipient or of its content. `columns.test.ts` compares the table with the database.
 *
 * Campaigns and automations store their mail by statements of their own (`src/campaigns/dispatch.ts`,
 * `src/automations/mail-queue.ts`); columns without `pick` and `computed` are theirs.
 */
import type { Mailbox } from '#src/mail/address.ts'
import type { ColumnType } from '#src/stores/binary-columns.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { BODIES_ARE_APART } from './bodies.ts'
import { contentSizeOf, type Submission, type SubmittedEnvelope, type TemplateReference } from './submission.ts'

/** A type of PostgreSQL, with the TypeScript type of its values. */
interface SqlType<T> {
  readonly name: ColumnType | 'text[]'
  readonly isNullable: boolean
  /** Only for the compiler; never set. */
  readonly value?: T
}

export interface MessageColumn {
  readonly type: SqlType<unknown>
  /** Returns its value in a submission. */
  readonly pick?: (submission: Submission) => unknown
  /**
   * Most messages do not have it. It has no parameter of its own; its value is in the JSON object `optional_fields`.
   */
  readonly isOptional?: true
  /** SQL expression that is stored when an optional field is missing; without it null. */
  readonly byDefault?: string
  /** Stored as this SQL expression of other columns. */
  readonly computed?: string
  /** The field of the claimed recipient that the claim loads it into. */
  readonly recipient?: string
  /** The field of the claimed recipient's content. */
  readonly content?: string
  /** The claim loads it only for the `read` of another column. */
  readonly isPart?: true
  /** The field's value, from the column's value and the row; without it the column's value. */
  readonly read?: (value: never, row: never) => unknown
  /** A column of `message_bodies`. Loaded with the claim only where the content is small, otherwise when it is sent. */
  readonly isBody?: true
}

const uuid: SqlType<string> = { name: 'uuid', isNullable: false }
const text: SqlType<string> = { name: 'text', isNullable: false }
const tier: SqlType<Tier> = { name: 'text', isNullable: false }
const textArray: SqlType<string[]> = { name: 'text[]', isNullable: false }
const bytea: SqlType<Buffer> = { name: 'bytea', isNullable: false }
const boolean: SqlType<boolean> = { name: 'boolean', isNullable: false }
const smallint: SqlType<number> = { name: 'smallint', isNullable: false }
const integer: SqlType<number> = { name: 'integer', isNullable: false }
const timestamptz: SqlType<Date> = { name: 'timestamptz', isNullable: false }
function jsonb<T>(): SqlType<T> {
  return { name: 'jsonb', isNullable: false }
}
function nullable<T>({ name }: SqlType<T>): SqlType<T | null> {
  return { name, isNullable: true }
}

/**
 * The content of a campaign or automation message, which is rendered when it is sent: the message itself has no subject
 * and no body.
 */
export interface DeferredContentRef {
  readonly contentId: string
  readonly contactId: string
  /** The audience the contact is a member of; null for none. */
  readonly audienceId: string | null
  /** Additional template variables. */
  readonly params: Readonly<Record<string, unknown>> | null
}

interface DeferredContentRow {
  readonly contact_id: string
  readonly audience_id: string | null
  readonly params: Record<string, unknown> | null
}

export const MESSAGE_COLUMNS = {
  id: { type: uuid, pick: (s) => s.id },
  workspace_id: { type: uuid, pick: (s) => s.workspaceId },
  api_key_id: { type: nullable(uuid), pick: (s) => s.apiKeyId },
  domain_id: { type: nullable(uuid), pick: (s) => s.domainId, recipient: 'domainId' },
  tier: { type: tier, pick: (s) => s.tier },
  from_email: {
    type: text,
    pick: (s) => s.from.email,
    content: 'from',
    read: (email: string, row: { readonly from_name: string | null }): Mailbox => ({ email, name: row.from_name }),
  },
  from_name: { type: nullable(text), pick: (s) => s.from.name, isOptional: true, isPart: true },
  reply_to: { type: nullable(jsonb<Mailbox>()), pick: (s) => s.replyTo, isOptional: true, content: 'replyTo' },
  to_list: { type: jsonb<readonly Mailbox[]>(), pick: (s) => s.to, content: 'to' },
  cc_list: {
    type: nullable(jsonb<readonly Mailbox[]>()),
    pick: (s) => nullIfEmpty(s.cc),
    isOptional: true,
    content: 'cc',
    read: emptyIfNull<Mailbox>,
  },
  subject: { type: text, pick: (s) => s.subject, content: 'subject' },
  html: { type: nullable(text), pick: (s) => (isPlain(s) ? s.html : null), content: 'html', isBody: true },
  body_text: { type: nullable(text), pick: (s) => (isPlain(s) ? s.text : null), content: 'text', isBody: true },
  /** The message as submitted by SMTP; it is sent as it is, without rendering. */
  raw: {
    type: nullable(bytea),
    pick: (s) => (isPlain(s) ? (s.smtp?.raw ?? null) : null),
    content: 'raw',
    isBody: true,
  },
  /** False for mail with deferred content, and mail that was accepted before bodies were stored apart. */
  has_body_row: { type: boolean, computed: BODIES_ARE_APART, isPart: true },
  headers: {
    type: nullable(jsonb<readonly (readonly [name: string, value: string])[]>()),
    pick: (s) => nullIfEmpty(s.headers),
    isOptional: true,
    content: 'headers',
    read: emptyIfNull<readonly [name: string, value: string]>,
  },
  tags: { type: nullable(textArray), pick: (s) => nullIfEmpty(s.tags), isOptional: true },
  metadata: { type: nullable(jsonb<Record<string, unknown>>()), pick: (s) => s.metadata, isOptional: true },
  has_attachments: {
    type: boolean,
    pick: (s) => s.attachments.length > 0 || null,
    isOptional: true,
    byDefault: 'false',
    content: 'hasAttachments',
  },
  /** Characters of the texts, bytes of the attachments: how much loading it costs. */
  content_size: { type: integer, pick: contentSizeOf, content: 'size' },
  /** Null: the setting of the workspace. */
  track_opens: { type: nullable(boolean), pick: (s) => s.trackOpens, isOptional: true, recipient: 'trackOpens' },
  track_clicks: { type: nullable(boolean), pick: (s) => s.trackClicks, isOptional: true, recipient: 'trackClicks' },
  recipient_count: { type: smallint, pick: (s) => s.recipients.length, recipient: 'recipientCount' },
  /** The last event sequence of a message with several recipients; a single recipient has its own counter. */
  event_count: { type: integer, computed: 'CASE WHEN recipient_count > 1 THEN recipient_count ELSE 0 END' },
  /** Read as the start of the message's lifetime: its scheduled time, or the time of acceptance. */
  scheduled_at: {
    type: nullable(timestamptz),
    pick: (s) => s.scheduledAt,
    isOptional: true,
    recipient: 'beganAt',
    read: (scheduledAt: Date | null, row: { readonly created_at: Date }): Date => scheduledAt ?? row.created_at,
  },
  timezone: { type: nullable(text), pick: (s) => s.timezone, isOptional: true },
  expires_at: { type: nullable(timestamptz), pick: (s) => s.expiresAt, isOptional: true, recipient: 'expiresAt' },
  created_at: { type: timestamptz, pick: (s) => s.createdAt, content: 'createdAt' },
  /** Null for a message that did not come by SMTP. */
  submitted: {
    type: nullable(jsonb<SubmittedEnvelope>()),
    pick: (s) => s.smtp?.envelope ?? null,
    isOptional: true,
    recipient: 'submitted',
  },
  /** Only its recipient may read it: it has a link that gives access. */
  is_confidential: {
    type: boolean,
    pick: (s) => s.isConfidential ?? null,
    isOptional: true,
    byDefault: 'false',
  },
  template: { type: nullable(jsonb<TemplateReference>()), pick: (s) => s.template ?? null, isOptional: true },
  content_id: {
    type: nullable(uuid),
    recipient: 'deferredContent',
    read: (contentId: string | null, row: DeferredContentRow): DeferredContentRef | null =>
      contentId === null
        ? null
        : { contentId, contactId: row.contact_id, audienceId: row.audience_id, params: row.params },
  },
  contact_id: { type: nullable(uuid), isPart: true },
  audience_id: { type: nullable(uuid), isPart: true },
  campaign_id: { type: nullable(uuid) },
  params: { type: nullable(jsonb<Record<string, unknown>>()), isPart: true },
  /** For the log lines of all roles: what accepted the message. */
  request_id: { type: nullable(text), pick: (s) => s.origin?.requestId ?? null, recipient: 'requestId' },
  /** The parent of its spans; null while its trace is not recorded. */
  traceparent: {
    type: nullable(text),
    pick: (s) => s.origin?.traceparent ?? null,
    isOptional: true,
    recipient: 'traceparent',
  },
} as const satisfies Record<string, MessageColumn>

type Columns = typeof MESSAGE_COLUMNS
export type ColumnName = keyof Columns
type ValueOf<C> = C extends { readonly type: SqlType<infer T> } ? T : never

/** A row of the table as it is read. */
export type MessageRow = { readonly [Name in ColumnName]: ValueOf<Columns[Name]> }

export type ClaimedPart = 'recipient' | 'content'
type FieldOf<C> = C extends { readonly read: (...args: never[]) => infer T } ? T : ValueOf<C>
type Fields<P extends ClaimedPart> = {
  readonly [
    Name in ColumnName as Columns[Name] extends Readonly<Record<P, infer Field extends string>> ? Field : never
  ]: FieldOf<Columns[Name]>
}

/** The fields of a claimed recipient that are columns of its message. */
export type RecipientFields = Fields<'recipient'>
export type ContentFields = Fields<'content'>

/** The columns that the claim loads, as a row. */
export type ClaimedMessageRow = Pick<
  MessageRow,
  {
    [Name in ColumnName]: Columns[Name] extends { recipient: string } | { content: string } | { isPart: true }
      ? Name
      : never
  }[ColumnName]
>

/** The table as a list. */
export const COLUMN_LIST: readonly (readonly [name: ColumnName, column: MessageColumn])[] =
  Object.entries<MessageColumn>(MESSAGE_COLUMNS).map(([name, column]) => [name as ColumnName, column])

/** Otherwise its body is stored in the column `compressed` of `message_bodies`. */
function isPlain({ compressed = null }: Submission): boolean {
  return compressed === null
}

function nullIfEmpty<T>(list: readonly T[]): readonly T[] | null {
  return list.length > 0 ? list : null
}

function emptyIfNull<T>(list: readonly T[] | null): readonly T[] {
  return list ?? []
}
