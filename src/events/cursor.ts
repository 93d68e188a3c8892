/**
 * Cursor of the event feed: a position after one event, in the order (transaction, id). Opaque to clients, which may
 * also pass an event id they have seen (`evt_…`). An invalid cursor is refused, never guessed.
 */
import { hexOf, idOfHex } from '#src/platform/id.ts'

export interface FeedPosition {
  /** A PostgreSQL xid8; null if only the event is known. */
  readonly tx: string | null
  readonly id: string
}

/** The position before all events. */
export const FEED_START = { tx: '0', id: '00000000-0000-0000-0000-000000000000' } as const satisfies FeedPosition

const CURSOR = /^(\d{1,20})\.([0-9a-f]{32})$/
const EVENT = /^evt_([0-9a-f]{32})$/i
const MAX_XID8 = 2n ** 64n - 1n

export function writeCursor({ tx, id }: FeedPosition & { readonly tx: string }): string {
  return Buffer.from(`${tx}.${hexOf(id)}`).toString('base64url')
}

export function readCursor(text: string): FeedPosition | null {
  const event = EVENT.exec(text)?.[1]
  if (event !== undefined) return { tx: null, id: idOfHex(event.toLowerCase()) }
  const [, tx, hex] = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  return tx === undefined || hex === undefined || BigInt(tx) > MAX_XID8 ? null : { tx, id: idOfHex(hex) }
}
