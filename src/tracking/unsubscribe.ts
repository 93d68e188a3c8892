/**
 * Unsubscribes by the link in a message, or by mail to its unsubscribe address: from the audience that the message was
 * sent to, or, without one, from all mail of campaigns and automations. Only the token is needed; campaign and message
 * may be deleted. If the message is still stored, its event (once) and its campaign ledger are written in the same
 * transaction. A contact that was deleted and created again has another id; then the message gives the address.
 * Repeated and concurrent requests have the effect of one. An undo reverts exactly this change, for a day, and only
 * from the page that showed it.
 */
import { z } from 'zod'
import {
  applyPreferences,
  findPreferenceContact,
  findPreferenceContactByEmail,
  listPreferences,
  type PreferenceChange,
  type PreferenceContact,
  type Preference,
} from '#src/contacts/preferences.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { publishNotifications, NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { isUuid, newId } from '#src/platform/id.ts'
import { raiseRecipientEvents } from '#src/messages/recipient-events.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'
import type { ListRef, MailboxRef } from './tokens.ts'

export type UnsubscribeContext = Pick<Context, 'db' | 'redis' | 'clock' | 'encryption'>

/** What an unsubscribe request names; a request by mail may not name its message. */
export type UnsubscribeRef = ListRef | (MailboxRef & { readonly messageId?: undefined })

const ADDRESS = weekly(
  'leaving-address',
  (weeks) => sql`
    SELECT address
    FROM recipients
    WHERE message_id = $1 AND n = $2 AND workspace_id = $3 AND ${weeks.contain('message_id')}
  `,
)
const AUDIENCE = prepared(
  'leaving-audience',
  'SELECT name FROM audiences WHERE id = $1 AND workspace_id = $2 AND deleted_at IS NULL',
)

/** The person to unsubscribe; null for a deleted contact. */
async function findRecipient(db: Queryable, ref: UnsubscribeRef): Promise<PreferenceContact | null> {
  const isMail = ref.messageId !== undefined
  const person =
    ref.contactId === null ? null : await findPreferenceContact(db, ref.contactId, isMail ? ref.workspaceId : null)
  if (person !== null || !isMail) return person
  const {
    rows: [recipient],
  } = await db.query<{ address: string }>(ADDRESS.for([ref.messageId]), [ref.messageId, ref.n, ref.workspaceId])
  return recipient === undefined ? null : findPreferenceContactByEmail(db, ref.workspaceId, recipient.address)
}

export interface UnsubscribeTarget {
  readonly person: PreferenceContact
  /** Name of the audience; null: all mail of campaigns and automations. */
  readonly list: string | null
}

/** What the page asks the person to confirm; changes nothing. Null for a deleted contact. */
export async function findUnsubscribeTarget(db: Queryable, ref: UnsubscribeRef): Promise<UnsubscribeTarget | null> {
  const person = await findRecipient(db, ref)
  if (person === null) return null
  if (ref.audienceId === null) return { person, list: null }
  const {
    rows: [audience],
  } = await db.query<{ name: string }>(AUDIENCE, [ref.audienceId, person.workspaceId])
  return { person, list: audience?.name ?? null }
}

export type UnsubscribeResult =
  | { readonly kind: 'nobody' }
  /** `undo` reverts the change; null if nothing changed. */
  | { readonly kind: 'left'; readonly target: UnsubscribeTarget; readonly undo: string | null }

/** @throws if PostgreSQL is unavailable; the change may not have been made. */
export async function unsubscribe(ctx: UnsubscribeContext, ref: UnsubscribeRef): Promise<UnsubscribeResult> {
  const now = new Date(ctx.clock.now())
  const target = await findUnsubscribeTarget(ctx.db, ref)
  if (target === null) return { kind: 'nobody' }
  const { person } = target
  const choice: PreferenceChange =
    ref.audienceId === null
      ? { unsubscribe: [], resubscribe: [], isOptedOut: true }
      : { unsubscribe: [ref.audienceId], resubscribe: [] }
  const { chosen, told: reported } = await ctx.db.transaction(async (tx) => {
    const made = await applyPreferences(tx, person, choice, now)
    return { chosen: made, told: await recordUnsubscribe(tx, ref, now) }
  })
  for (const news of [chosen.notifications, reported]) publishNotifications(ctx, news)
  const optedOut = choice.isOptedOut === true && !person.isOptedOut
  const isChanged = optedOut || chosen.unsubscribed.length > 0
  return {
    kind: 'left',
    target,
    undo: isChanged ? encryptUndo(ctx, person, { audiences: chosen.unsubscribed, optedOut }) : null,
  }
}

const LEDGER = weekly(
  'leaving-ledger',
  (weeks) => sql`
    UPDATE campaign_recipients l
    SET unsubscribed_at = $3
    FROM recipients r
    WHERE r.message_id = $1
      AND ${weeks.contain('r.message_id')}
      AND r.n = $2
      AND r.campaign_id IS NOT NULL
      AND l.message_id = r.message_id
      AND l.campaign_id = r.campaign_id
      AND l.unsubscribed_at IS NULL
  `,
)

/** Records the event of the message and updates its campaign ledger. */
export async function recordUnsubscribe(
  tx: Queryable,
  ref: Pick<ListRef, 'messageId' | 'n' | 'audienceId'> | { readonly messageId?: undefined },
  now: Date,
): Promise<CommitNotifications> {
  if (ref.messageId === undefined) return NO_NOTIFICATIONS
  const { messageId, n, audienceId } = ref
  const event = {
    id: newId(now.getTime()),
    messageId,
    n,
    type: 'email.unsubscribed',
    data: { audience_id: audienceId },
  } as const
  const raised = await raiseRecipientEvents(tx, [event], now)
  await tx.query(LEDGER.for([messageId]), [messageId, n, now])
  return raised
}

const PURPOSE = 'unsubscribe-undo'
const UNDO_MS = 24 * 3600 * 1000
const TEXT = /^[A-Za-z0-9_-]{1,8192}$/
const uuid = z.string().refine(isUuid)
const undoContent = z.tuple([uuid, uuid, z.array(uuid), z.boolean(), z.number()])

interface UndoChange {
  readonly audiences: readonly string[]
  readonly optedOut: boolean
}

function encryptUndo(
  { encryption, clock }: UnsubscribeContext,
  { workspaceId, contactId }: PreferenceContact,
  { audiences, optedOut }: UndoChange,
): string {
  return encryption
    .encrypt(PURPOSE, JSON.stringify([workspaceId, contactId, audiences, optedOut, clock.now() + UNDO_MS]))
    .toString('base64url')
}

/** False for an invalid or expired undo and for a deleted contact. @throws as `unsubscribe`. */
export async function undoUnsubscribe(ctx: UnsubscribeContext, undo: string): Promise<boolean> {
  const content = TEXT.test(undo) ? decryptUndo(ctx, Buffer.from(undo, 'base64url')) : null
  if (content === null) return false
  const [workspaceId, contactId, audiences, optedOut, untilMs] = content
  const person = untilMs < ctx.clock.now() ? null : await findPreferenceContact(ctx.db, contactId, workspaceId)
  if (person === null) return false
  const choice: PreferenceChange = {
    unsubscribe: [],
    resubscribe: audiences,
    ...(optedOut ? { isOptedOut: false } : {}),
  }
  const { notifications: news } = await ctx.db.transaction((tx) =>
    applyPreferences(tx, person, choice, new Date(ctx.clock.now())),
  )
  publishNotifications(ctx, news)
  return true
}

function decryptUndo({ encryption }: UnsubscribeContext, sealed: Buffer): z.output<typeof undoContent> | null {
  try {
    return undoContent.safeParse(JSON.parse(encryption.decrypt(PURPOSE, sealed).toString('utf8'))).data ?? null
  } catch {
    return null // not made by this installation
  }
}

/** Audiences on one page. */
const MAX_LISTED = 90

export interface Preferences {
  readonly person: PreferenceContact
  readonly lists: readonly Preference[]
}

/** The person's preferences. Null for a deleted contact. */
export async function readPreferences(db: Queryable, ref: UnsubscribeRef): Promise<Preferences | null> {
  const person = await findRecipient(db, ref)
  return person === null ? null : { person, lists: await listPreferences(db, person, MAX_LISTED) }
}

export interface PreferenceForm {
  /** Audiences that the form showed; all others stay unchanged. */
  readonly shown: ReadonlySet<string>
  readonly audiences: ReadonlySet<string>
  readonly isOptedOut: boolean
}

/** Saves the choices of the form; null for a deleted contact. @throws as `unsubscribe`. */
export async function savePreferences(
  ctx: UnsubscribeContext,
  ref: UnsubscribeRef,
  form: PreferenceForm,
): Promise<Preferences | null> {
  const now = new Date(ctx.clock.now())
  const before = await readPreferences(ctx.db, ref)
  if (before === null) return null
  const isChosen = ({ audienceId }: Preference): boolean => !form.isOptedOut && form.audiences.has(audienceId)
  const idsOf = (lists: readonly Preference[]): string[] => lists.map(({ audienceId }) => audienceId)
  const toLeave = before.lists.filter(
    (one) => one.isSubscribed && !isChosen(one) && (form.isOptedOut || form.shown.has(one.audienceId)),
  )
  const toJoin = before.lists.filter((one) => !one.isSubscribed && isChosen(one))
  const { chosen, told: reported } = await ctx.db.transaction(async (tx) => {
    const made = await applyPreferences(
      tx,
      before.person,
      { unsubscribe: idsOf(toLeave), resubscribe: idsOf(toJoin), isOptedOut: form.isOptedOut },
      now,
    )
    const hasLeft = made.unsubscribed.length > 0 || (form.isOptedOut && !before.person.isOptedOut)
    return { chosen: made, told: hasLeft ? await recordUnsubscribe(tx, ref, now) : NO_NOTIFICATIONS }
  })
  for (const news of [chosen.notifications, reported]) publishNotifications(ctx, news)
  return readPreferences(ctx.db, ref)
}
