/**
 * Unsubscribing by the link of a mail, or by a letter to its address: from the audience that the mail was sent to and from no other; where it
 * belonged to none, from all mail of campaigns and automations. What carries it is the token alone: the campaign, the mail and what it said
 * may be gone. The mail, where it is still known, gets its event, once, and its campaign's ledger is told, in the same transaction.
 *
 * A contact that was deleted and made again has another id: the mail says whose address it went to. Doing it twice, or two at once, is
 * doing it once. An undo brings back what this very change took, for a day, and only from the page that showed it.
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
import type { ListRef, MailboxRef } from './tokens.ts'

export type UnsubscribeContext = Pick<Context, 'db' | 'redis' | 'clock' | 'encryption'>

/** By which mail; null where a letter does not say. */
export type UnsubscribeRef = ListRef | (MailboxRef & { readonly messageId?: undefined })

const ADDRESS = prepared(
  'leaving-address',
  'SELECT address FROM recipients WHERE message_id = $1 AND n = $2 AND workspace_id = $3',
)
const AUDIENCE = prepared(
  'leaving-audience',
  'SELECT name FROM audiences WHERE id = $1 AND workspace_id = $2 AND deleted_at IS NULL',
)

/** Who it is about; null for a contact that was deleted. */
async function findRecipient(db: Queryable, ref: UnsubscribeRef): Promise<PreferenceContact | null> {
  const isMail = ref.messageId !== undefined
  const person = ref.contactId === null ? null : await findPreferenceContact(db, ref.contactId, isMail ? ref.workspaceId : null)
  if (person !== null || !isMail) return person
  const {
    rows: [recipient],
  } = await db.query<{ address: string }>(ADDRESS, [ref.messageId, ref.n, ref.workspaceId])
  return recipient === undefined ? null : findPreferenceContactByEmail(db, ref.workspaceId, recipient.address)
}

export interface UnsubscribeTarget {
  readonly person: PreferenceContact
  /** The name of the audience; null: all mail of campaigns and automations. */
  readonly list: string | null
}

/** What the page asks about; changes nothing. Null for a contact that was deleted. */
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
  /** `undo` brings back what was changed; null where nothing was. */
  | { readonly kind: 'left'; readonly target: UnsubscribeTarget; readonly undo: string | null }

/** @throws when PostgreSQL is away: nothing is known to be changed. */
export async function unsubscribe(ctx: UnsubscribeContext, ref: UnsubscribeRef): Promise<UnsubscribeResult> {
  const now = new Date(ctx.clock.now())
  const target = await findUnsubscribeTarget(ctx.db, ref)
  if (target === null) return { kind: 'nobody' }
  const { person } = target
  const choice: PreferenceChange =
    ref.audienceId === null ? { unsubscribe: [], resubscribe: [], isOptedOut: true } : { unsubscribe: [ref.audienceId], resubscribe: [] }
  const { chosen, told: reported } = await ctx.db.transaction(async (tx) => {
    const made = await applyPreferences(tx, person, choice, now)
    return { chosen: made, told: await recordUnsubscribe(tx, ref, now) }
  })
  for (const news of [chosen.notifications, reported]) publishNotifications(ctx, news)
  const optedOut = choice.isOptedOut === true && !person.isOptedOut
  const isChanged = optedOut || chosen.unsubscribed.length > 0
  return { kind: 'left', target, undo: isChanged ? encryptUndo(ctx, person, { audiences: chosen.unsubscribed, optedOut }) : null }
}

const LEDGER = prepared(
  'leaving-ledger',
  sql`
    UPDATE campaign_recipients l
    SET unsubscribed_at = $3
    FROM recipients r
    WHERE r.message_id = $1
      AND r.n = $2
      AND r.campaign_id IS NOT NULL
      AND l.message_id = r.message_id
      AND l.campaign_id = r.campaign_id
      AND l.unsubscribed_at IS NULL
  `,
)

/** The mail that it was done by. */
async function recordUnsubscribe(tx: Queryable, ref: UnsubscribeRef, now: Date): Promise<CommitNotifications> {
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
  await tx.query(LEDGER, [messageId, n, now])
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

/** False for an undo that is not ours or too old, and for a contact that was deleted meanwhile. @throws as `leave`. */
export async function undoUnsubscribe(ctx: UnsubscribeContext, undo: string): Promise<boolean> {
  const content = TEXT.test(undo) ? decryptUndo(ctx, Buffer.from(undo, 'base64url')) : null
  if (content === null) return false
  const [workspaceId, contactId, audiences, optedOut, untilMs] = content
  const person = untilMs < ctx.clock.now() ? null : await findPreferenceContact(ctx.db, contactId, workspaceId)
  if (person === null) return false
  const choice: PreferenceChange = { unsubscribe: [], resubscribe: audiences, ...(optedOut ? { isOptedOut: false } : {}) }
  const { notifications: news } = await ctx.db.transaction((tx) => applyPreferences(tx, person, choice, new Date(ctx.clock.now())))
  publishNotifications(ctx, news)
  return true
}

function decryptUndo({ encryption }: UnsubscribeContext, sealed: Buffer): z.output<typeof undoContent> | null {
  try {
    return undoContent.safeParse(JSON.parse(encryption.decrypt(PURPOSE, sealed).toString('utf8'))).data ?? null
  } catch {
    return null // not ours
  }
}

/** Audiences that one page shows. */
const MAX_LISTED = 90

export interface Preferences {
  readonly person: PreferenceContact
  readonly lists: readonly Preference[]
}

/** What a person may choose from. Null for a contact that was deleted. */
export async function readPreferences(db: Queryable, ref: UnsubscribeRef): Promise<Preferences | null> {
  const person = await findRecipient(db, ref)
  return person === null ? null : { person, lists: await listPreferences(db, person, MAX_LISTED) }
}

export interface PreferenceForm {
  /** What there was to choose from; all else stays as it is. */
  readonly shown: ReadonlySet<string>
  readonly audiences: ReadonlySet<string>
  readonly isOptedOut: boolean
}

/** Takes over what was chosen of what the page shows; null for a contact that was deleted. @throws as `leave`. */
export async function savePreferences(ctx: UnsubscribeContext, ref: UnsubscribeRef, form: PreferenceForm): Promise<Preferences | null> {
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
