/**
 * Unsubscribes an address from the bulk mail of a workspace, by the link in mail sent to `/send-email/bulk`: the
 * address goes on the suppression list with a cause that stops the tier `bulk` only, so that receipts still arrive.
 * The token is all that is needed; the message may be deleted. If it is stored, its event is written in the same
 * transaction, once. Repeated and concurrent requests have the effect of one. An undo removes exactly this entry, for a
 * day; subscribing by a form removes it as well (src/contacts/membership.ts).
 */
import { z } from 'zod'
import { publishNotifications } from '#src/queue/notifications.ts'
import { isUuid } from '#src/platform/id.ts'
import { suppress, withdrawBulkUnsubscribe } from '#src/suppression/suppress.ts'
import type { AddressRef } from './address-token.ts'
import { recordUnsubscribe, type UnsubscribeContext } from './unsubscribe.ts'

/** Returns what reverts it; null if the address was on the list. @throws if PostgreSQL is unavailable. */
export async function unsubscribeFromBulk(ctx: UnsubscribeContext, ref: AddressRef): Promise<string | null> {
  const { workspaceId, messageId, address } = ref
  const now = new Date(ctx.clock.now())
  const entry = { workspaceId, address, kind: 'unsubscribe_bulk', reason: null, messageId } as const
  const { added, notifications } = await ctx.db.transaction(async (tx) => {
    const result = await suppress(tx, [entry], now)
    return { added: result.added, notifications: await recordUnsubscribe(tx, { ...ref, audienceId: null }, now) }
  })
  publishNotifications(ctx, notifications)
  return added === 0 ? null : encryptUndo(ctx, ref)
}

const PURPOSE = 'unsubscribe-undo'
const UNDO_MS = 24 * 3600 * 1000
const TEXT = /^[A-Za-z0-9_-]{1,2048}$/
const undoContent = z.tuple([z.literal('bulk'), z.string().refine(isUuid), z.string(), z.number()])

function encryptUndo({ encryption, clock }: UnsubscribeContext, { workspaceId, address }: AddressRef): string {
  return encryption
    .encrypt(PURPOSE, JSON.stringify(['bulk', workspaceId, address, clock.now() + UNDO_MS]))
    .toString('base64url')
}

/** False for an invalid or expired undo, and for one of another address. @throws as `unsubscribeFromBulk`. */
export async function undoBulkUnsubscribe(ctx: UnsubscribeContext, ref: AddressRef, undo: string): Promise<boolean> {
  const content = TEXT.test(undo) ? decryptUndo(ctx, Buffer.from(undo, 'base64url')) : null
  if (content === null) return false
  const [, workspaceId, address, untilMs] = content
  if (untilMs < ctx.clock.now() || workspaceId !== ref.workspaceId || address !== ref.address) return false
  await withdrawBulkUnsubscribe(ctx.db, workspaceId, address)
  return true
}

function decryptUndo({ encryption }: UnsubscribeContext, sealed: Buffer): z.output<typeof undoContent> | null {
  try {
    return undoContent.safeParse(JSON.parse(encryption.decrypt(PURPOSE, sealed).toString('utf8'))).data ?? null
  } catch {
    return null // not made by this installation
  }
}
