/**
 * The claim: the one UPDATE that makes a waiting recipient ours, and loads what is needed to send it in the same round trip.
 * It is guarded by the state, the due time and the lease, so a recipient that stands twice in Redis, or was settled meanwhile, is simply not
 * returned, and a process whose lease was taken away gets nothing. It also says who is suppressed by now: a recipient of mail that was
 * scheduled or deferred may have come on the list since it was accepted. Whom the mail of a campaign or an automation is for is loaded for
 * all of a claim at once. Mail of a stopped workspace or campaign is not given to anybody.
 */
import { columnsOf } from '#src/columns.ts'
import { loadMailContacts, type MailContact } from '#src/contacts/mail-contacts.ts'
import { prepared, type Queryable } from '#src/db.ts'
import { heldByOwner } from '#src/queue/suspensions.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { MOVES } from './state.ts'
import type { Attachment, Mailbox, SubmittedEnvelope } from './submission.ts'

/** Content above this size is not loaded with the claim but when it is sent, so that a batch of claims stays small. */
const LARGE = 131_072

const CLAIM = prepared(
  'recipients-claim',
  `
WITH claimed AS (
  UPDATE recipients r SET state = 'sending', lease = $3, attempts = r.attempts + 1, updated_at = $4
  FROM unnest($1::uuid[], $2::smallint[]) AS i (message_id, n)
  WHERE r.message_id = i.message_id AND r.n = i.n AND r.state = ANY ('{${MOVES.claim.from.join(',')}}') AND r.due_at <= $4::timestamptz + interval '1 second'
    AND EXISTS (SELECT FROM leases WHERE id = $3) AND NOT ${heldByOwner('$4')}
  RETURNING r.message_id, r.n, r.workspace_id, r.tier, r.kind, r.address, r.domain, r.attempts, r.tries, r.due_at, r.campaign_id
)
SELECT c.*, s.cause, s.kind AS cause_kind, m.domain_id, m.from_email, m.from_name, m.reply_to, m.to_list, m.cc_list, m.subject, m.headers, m.has_attachments, m.content_size,
  CASE WHEN m.content_size <= ${LARGE} THEN m.html END AS html, CASE WHEN m.content_size <= ${LARGE} THEN m.body_text END AS body_text,
  CASE WHEN m.content_size <= ${LARGE} THEN m.raw END AS raw,
  CASE WHEN m.content_id IS NOT NULL THEN jsonb_build_object('contentId', m.content_id, 'contactId', m.contact_id, 'audienceId', m.audience_id, 'params', m.params) END AS recipe,
  m.track_opens, m.track_clicks,
  m.submitted, m.recipient_count, m.expires_at, coalesce(m.scheduled_at, m.created_at) AS began_at, m.created_at
FROM claimed c JOIN messages m ON m.id = c.message_id
LEFT JOIN suppressions s ON s.workspace_id = c.workspace_id AND s.address = lower(c.address)`,
)

const SUPPRESSED = prepared(
  'claim-suppressed',
  `
SELECT i.place, s.cause, s.kind AS cause_kind
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS i (workspace_id, address, place)
JOIN suppressions s ON s.workspace_id = i.workspace_id AND s.address = lower(i.address)`,
)

const TEXTS = prepared('texts-load', 'SELECT html, body_text AS text, raw FROM messages WHERE id = $1')

const ATTACHMENTS = prepared(
  'attachments-load',
  'SELECT filename, content_type, content_id, content FROM attachments WHERE message_id = $1 ORDER BY n',
)

interface ClaimedRow {
  readonly message_id: string
  readonly n: number
  readonly tier: Tier
  readonly kind: 'to' | 'cc' | 'bcc'
  readonly address: string
  readonly domain: string
  readonly attempts: number
  readonly tries: number
  readonly due_at: Date
  readonly workspace_id: string
  readonly cause: string | null
  readonly cause_kind: string | null
  readonly domain_id: string | null
  readonly from_email: string
  readonly from_name: string | null
  readonly reply_to: Mailbox | null
  readonly to_list: Mailbox[]
  readonly cc_list: Mailbox[] | null
  readonly subject: string
  readonly html: string | null
  readonly body_text: string | null
  readonly raw: Buffer | null
  readonly headers: [string, string][] | null
  readonly has_attachments: boolean
  readonly content_size: number
  readonly submitted: SubmittedEnvelope | null
  readonly recipe: Recipe | null
  readonly track_opens: boolean | null
  readonly track_clicks: boolean | null
  readonly campaign_id: string | null
  readonly recipient_count: number
  readonly expires_at: Date | null
  readonly began_at: Date
  readonly created_at: Date
}

/** What the mail of a campaign or an automation is made of when it is sent: it has no subject and no body of its own. */
export interface Recipe {
  readonly contentId: string
  readonly contactId: string
  /** As a member of which audience; null where there is none. */
  readonly audienceId: string | null
  /** Further variables. */
  readonly params: Readonly<Record<string, unknown>> | null
}

/** A recipient that is ours to send, with its message. */
export interface Claimed {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly domainId: string | null
  readonly tier: Tier
  readonly address: string
  readonly domain: string
  /** This attempt's number, from 1. */
  readonly attempt: number
  /** The fencing token it is held under. */
  readonly lease: number
  /** Real answers before this attempt. */
  readonly tries: number
  /** When its life began: acceptance, or its scheduled time. Ages count from here. */
  readonly beganAt: Date
  readonly dueAt: Date
  readonly expiresAt: Date | null
  readonly recipientCount: number
  /** Null for what did not come by SMTP. */
  readonly submitted: SubmittedEnvelope | null
  readonly campaignId: string | null
  readonly recipe: Recipe | null
  /** Whom a recipe is for; null where the contact was deleted, and for all other mail. */
  readonly contact: MailContact | null
  /** What the message itself says; null: as the workspace has it. */
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  /** Its address is on the suppression list: nothing may be sent to it. */
  readonly suppression: { readonly cause: string; readonly kind: string } | null
  readonly content: Content
}

export interface Content {
  readonly createdAt: Date
  readonly from: Mailbox
  readonly replyTo: Mailbox | null
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  /** The message as it came by SMTP; nothing else is then sent. */
  readonly raw: Buffer | null
  readonly headers: readonly (readonly [string, string])[]
  readonly hasAttachments: boolean
  /** Characters and bytes of all parts. */
  readonly size: number
  /** html, text and raw are not here yet: `loadTexts`. */
  readonly isLarge: boolean
}

/**
 * Claims and loads; answers only those that are now in `sending` under this lease. Rejects when the contacts of what was claimed cannot be
 * loaded: what became of the claim is then not known to the caller, as when its answer is lost.
 */
export async function claimRecipients(
  db: Queryable,
  lease: number,
  wanted: readonly { messageId: string; n: number }[],
  now: Date,
): Promise<Claimed[]> {
  const { rows } = await db.query<ClaimedRow>(CLAIM, [
    ...columnsOf(wanted, [(w) => w.messageId, (w) => w.n]),
    lease,
    now,
  ])
  const refs = new Map(
    rows.flatMap((row) => (row.recipe === null ? [] : [[row, { workspaceId: row.workspace_id, ...row.recipe }]])),
  )
  const contacts = await loadMailContacts(db, [...refs.values()])
  const places = new Map([...refs.keys()].map((row, i) => [row, i]))
  return rows.map((row) => claimedOf(row, lease, contacts[places.get(row) ?? -1] ?? null))
}

function claimedOf(row: ClaimedRow, lease: number, contact: MailContact | null): Claimed {
  return {
    messageId: row.message_id,
    n: row.n,
    workspaceId: row.workspace_id,
    domainId: row.domain_id,
    tier: row.tier,
    address: row.address,
    domain: row.domain,
    attempt: row.attempts,
    lease,
    tries: row.tries,
    beganAt: row.began_at,
    dueAt: row.due_at,
    expiresAt: row.expires_at,
    recipientCount: row.recipient_count,
    submitted: row.submitted,
    campaignId: row.campaign_id,
    recipe: row.recipe,
    contact,
    trackOpens: row.track_opens,
    trackClicks: row.track_clicks,
    suppression: row.cause === null ? null : { cause: row.cause, kind: row.cause_kind ?? '' },
    content: {
      createdAt: row.created_at,
      from: { email: row.from_email, name: row.from_name },
      replyTo: row.reply_to,
      to: row.to_list,
      cc: row.cc_list ?? [],
      subject: row.subject,
      html: row.html,
      text: row.body_text,
      raw: row.raw,
      headers: row.headers ?? [],
      hasAttachments: row.has_attachments,
      size: row.content_size,
      isLarge: row.content_size > LARGE,
    },
  }
}

export type Addressee = Pick<Claimed, 'workspaceId' | 'address'>

/** Of recipients that were claimed a while ago: what the claim would say of them now, in their order. */
export async function lookUpSuppressions(
  db: Queryable,
  wanted: readonly Addressee[],
): Promise<Claimed['suppression'][]> {
  const { rows } = await db.query<{ place: string | number; cause: string; cause_kind: string }>(
    SUPPRESSED,
    columnsOf(wanted, [(one) => one.workspaceId, (one) => one.address]),
  )
  const found = new Map(rows.map((row) => [Number(row.place), { cause: row.cause, kind: row.cause_kind }]))
  return wanted.map((_, i) => found.get(i + 1) ?? null)
}

export async function loadAttachments(db: Queryable, messageId: string): Promise<Attachment[]> {
  const { rows } = await db.query<{
    filename: string
    content_type: string
    content_id: string | null
    content: Buffer
  }>(ATTACHMENTS, [messageId])
  return rows.map((row) => ({
    filename: row.filename,
    contentType: row.content_type,
    contentId: row.content_id,
    content: row.content,
  }))
}

export type Texts = Pick<Content, 'html' | 'text' | 'raw'>

/** What of a message was too large to come with its claim. */
export async function loadTexts(db: Queryable, messageId: string): Promise<Texts> {
  const {
    rows: [row],
  } = await db.query<Texts>(TEXTS, [messageId])
  if (row === undefined) throw new Error('its content is gone')
  return row
}
