/**
 * Claims recipients for sending: one UPDATE moves waiting recipients to `sending`, and the same round trip loads their
 * messages. The UPDATE checks the state, the due time and the lease: a recipient that is in Redis twice, or that
 * changed its state meanwhile, is not returned. A process that lost its lease gets nothing, and nobody gets anything
 * from a database that is older than the mail sent (src/queue/restore-fence.ts). Recipients of a suspended workspace
 * or campaign are not claimed.
 *
 * The claim also finds suppressed addresses: a recipient of scheduled or deferred mail may have been suppressed since
 * it was accepted. One more query loads the contacts of all campaign and automation recipients in a claim.
 */
import { loadMailContacts, type MailContact } from '#src/contacts/mail-contacts.ts'
import type { LeaseProof } from '#src/queue/lease.ts'
import { suspendedByOwner } from '#src/queue/suspensions.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { joinSuppression } from '#src/suppression/erased.ts'
import { expectOneRow, weekly } from '#src/stores/weeks.ts'
import { COMPRESSED_BODY, IS_BODY_GONE, joinBody } from './bodies.ts'
import { bodyOf, type BodyRow } from './body-compression.ts'
import {
  COLUMN_LIST,
  type ClaimedMessageRow,
  type ContentFields,
  type ClaimedPart,
  type RecipientFields,
} from './columns.ts'
import { MOVES } from './state.ts'
import type { Attachment } from './submission.ts'

export type { DeferredContentRef } from './columns.ts'

/**
 * Characters and bytes. Larger content is loaded when it is sent, not with the claim, so that a batch of claims stays
 * small.
 */
const MAX_LOADED_SIZE = 131_072

const LOADED = COLUMN_LIST.filter(
  ([, { recipient, content, isPart }]) => recipient !== undefined || content !== undefined || isPart,
)
const ifSmall = (column: string): string => `CASE WHEN m.content_size <= ${MAX_LOADED_SIZE} THEN ${column} END`
const LOADED_COLUMNS = [
  ...LOADED.map(([name, { isBody }]) =>
    isBody ? `${ifSmall(`coalesce(m.${name}, b.${name})`)} AS ${name}` : `m.${name}`,
  ),
  `${ifSmall(COMPRESSED_BODY)} AS compressed`,
].join(', ')
const BODY_COLUMNS = [
  ...LOADED.flatMap(([name, { isBody, content }]) => (isBody ? [`coalesce(m.${name}, b.${name}) AS ${content}`] : [])),
  `${COMPRESSED_BODY} AS compressed`,
].join(', ')

const CLAIM = weekly(
  'recipients-claim',
  (weeks) => sql`
    WITH claimed AS (
      UPDATE recipients r SET state = 'sending', lease = $3, attempts = r.attempts + 1, updated_at = $4
      FROM unnest($1::uuid[], $2::smallint[]) AS i (message_id, n)
      WHERE r.message_id = i.message_id AND r.n = i.n AND ${expectOneRow('i.n')} AND ${weeks.contain('r.message_id')}
        AND r.state = ANY ('{${MOVES.claim.from.join(',')}}')
        AND r.due_at <= $4::timestamptz + interval '1 second'
        AND EXISTS (SELECT FROM leases WHERE id = $3)
        AND EXISTS (SELECT FROM restore_fence WHERE is_only AND counter >= $5)
        AND NOT ${suspendedByOwner('$4')}
      RETURNING r.message_id, r.n, r.workspace_id, r.tier, r.address, r.domain, r.attempts, r.tries, r.due_at,
        r.campaign_id
    )
    SELECT c.*, s.cause, s.kind AS cause_kind, ${LOADED_COLUMNS}, ${IS_BODY_GONE} AS is_body_gone
    FROM claimed c
    JOIN messages m ON m.id = c.message_id AND ${weeks.contain('m.id')}
    ${joinBody(weeks)}
    ${joinSuppression({ workspaceId: 'c.workspace_id', address: 'c.address', tier: 'c.tier' })}`,
  { isUrgent: true },
)

const SUPPRESSIONS = prepared(
  'claim-suppressed',
  sql`
    SELECT i.place, s.cause, s.kind AS cause_kind
    FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS i (workspace_id, address, tier, place)
    ${joinSuppression({ workspaceId: 'i.workspace_id', address: 'i.address', tier: 'i.tier' })}
    WHERE s.cause IS NOT NULL`,
)

const BODIES = weekly(
  'texts-load',
  (weeks) => sql`
    SELECT ${BODY_COLUMNS}, ${IS_BODY_GONE} AS "isBodyGone"
    FROM messages m
    ${joinBody(weeks)}
    WHERE m.id = $1 AND ${weeks.contain('m.id')}`,
)

const ATTACHMENTS = weekly(
  'attachments-load',
  (weeks) => sql`
    SELECT filename, content_type AS "contentType", content_id AS "contentId", content
    FROM attachments
    WHERE message_id = $1 AND ${weeks.contain('message_id')}
    ORDER BY n`,
)

interface ClaimedRow extends ClaimedMessageRow {
  readonly message_id: string
  readonly n: number
  readonly workspace_id: string
  readonly tier: Tier
  readonly address: string
  readonly domain: string
  readonly attempts: number
  readonly tries: number
  readonly due_at: Date
  readonly campaign_id: string | null
  readonly cause: string | null
  readonly cause_kind: string | null
  readonly is_body_gone: boolean
  readonly compressed: Buffer | null
}

/** A recipient that this process has claimed, with its message. `columns.ts` defines the fields of the message. */
export interface ClaimedRecipient extends RecipientFields {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly tier: Tier
  readonly address: string
  readonly domain: string
  /** This attempt's number, from 1. */
  readonly attempt: number
  /** The fencing token of the claim. */
  readonly lease: number
  /** The time of the claim, which distinguishes it from later claims of the recipient under the same lease. */
  readonly claimedAt: Date
  /** Counted attempts before this one: those that a server replied to. */
  readonly tries: number
  readonly dueAt: Date
  readonly campaignId: string | null
  /** The contact of deferred content; null when the contact was deleted, and for all other messages. */
  readonly contact: MailContact | null
  /** Its address is suppressed: nothing may be sent to it. */
  readonly suppression: { readonly cause: string; readonly kind: string } | null
  readonly content: LoadedContent
}

export interface LoadedContent extends ContentFields {
  /** The bodies: call `bodiesOf`. Null: they are in their own fields. */
  readonly compressed: Buffer | null
  /** The bodies are not loaded yet: call `loadBodies`. */
  readonly isLarge: boolean
  /** Its body is no longer stored: it must not be sent. */
  readonly isBodyGone: boolean
}

/**
 * Returns the recipients that are now in `sending` under this lease. Rejects when the contacts of the claimed messages
 * cannot be loaded: the caller then does not know what was claimed, as when the response of the database is lost. A
 * number is a lease alone, in place of a proof that the database is not older.
 */
export async function claimRecipients(
  db: Queryable,
  held: LeaseProof | number,
  recipients: readonly { messageId: string; n: number }[],
  now: Date,
): Promise<ClaimedRecipient[]> {
  const { lease, counter } = typeof held === 'number' ? { lease: held, counter: 0 } : held
  const { rows } = await db.query<ClaimedRow>(CLAIM.for(recipients.map(({ messageId }) => messageId)), [
    ...columnsOf(recipients, [(w) => w.messageId, (w) => w.n]),
    lease,
    now,
    counter,
  ])
  const claimed = rows.map((row) => claimedOf(row, lease, now))
  const refs = claimed.flatMap(({ workspaceId, deferredContent }) =>
    deferredContent === null ? [] : [{ workspaceId, ...deferredContent }],
  )
  const contacts = (await loadMailContacts(db, refs)).values()
  return claimed.map((one) => (one.deferredContent === null ? one : { ...one, contact: contacts.next().value ?? null }))
}

function claimedOf(row: ClaimedRow, lease: number, claimedAt: Date): ClaimedRecipient {
  return {
    ...readFields(row),
    messageId: row.message_id,
    n: row.n,
    workspaceId: row.workspace_id,
    tier: row.tier,
    address: row.address,
    domain: row.domain,
    attempt: row.attempts,
    lease,
    claimedAt,
    tries: row.tries,
    dueAt: row.due_at,
    campaignId: row.campaign_id,
    contact: null,
    suppression: row.cause === null ? null : { cause: row.cause, kind: row.cause_kind ?? '' },
    content: {
      ...readContent(row),
      compressed: row.compressed,
      isLarge: row.content_size > MAX_LOADED_SIZE,
      isBodyGone: row.is_body_gone,
    },
  }
}

const readFields = readerOf<RecipientFields>('recipient')
const readContent = readerOf<ContentFields>('content')

type Read = (value: unknown, row: ClaimedMessageRow) => unknown

function readerOf<T extends object>(part: ClaimedPart): (row: ClaimedMessageRow) => T {
  const fields = LOADED.flatMap(([name, column]) => {
    const field = column[part]
    if (field === undefined) return []
    return [{ name: name as keyof ClaimedMessageRow, field, read: column.read as Read | undefined }]
  })
  return (row) => {
    const result: Record<string, unknown> = {}
    for (const { name, field, read } of fields) result[field] = read === undefined ? row[name] : read(row[name], row)
    return result as T
  }
}

export type WorkspaceAddress = Pick<ClaimedRecipient, 'workspaceId' | 'address' | 'tier'>

/** The suppressions that a claim would find now, for recipients that were claimed earlier, in their order. */
export async function findCurrentSuppressions(
  db: Queryable,
  recipients: readonly WorkspaceAddress[],
): Promise<ClaimedRecipient['suppression'][]> {
  const { rows } = await db.query<{ place: string | number; cause: string; cause_kind: string }>(
    SUPPRESSIONS,
    columnsOf(recipients, [(one) => one.workspaceId, (one) => one.address, (one) => one.tier]),
  )
  const found = new Map(rows.map((row) => [Number(row.place), { cause: row.cause, kind: row.cause_kind }]))
  return recipients.map((_, i) => found.get(i + 1) ?? null)
}

export async function loadAttachments(db: Queryable, messageId: string): Promise<Attachment[]> {
  return (await db.query<Attachment>(ATTACHMENTS.for([messageId]), [messageId])).rows
}

export type MessageBodies = Pick<LoadedContent, 'html' | 'text' | 'raw' | 'isBodyGone'>

/** Loads bodies that are too large to be loaded with the claim. @throws when the message was deleted. */
export async function loadBodies(db: Queryable, messageId: string): Promise<MessageBodies> {
  const {
    rows: [row],
  } = await db.query<BodyRow & Pick<MessageBodies, 'isBodyGone'>>(BODIES.for([messageId]), [messageId])
  if (row === undefined) throw new Error('the message was deleted, and its content with it')
  return bodiesOf(row)
}

/** The bodies that are loaded, decompressed; a damaged one is gone. */
export function bodiesOf(loaded: BodyRow & Pick<MessageBodies, 'isBodyGone'>): MessageBodies {
  const body = bodyOf(loaded)
  return { ...(body ?? NO_BODY), isBodyGone: loaded.isBodyGone || body === null }
}

const NO_BODY = { html: null, text: null, raw: null }
