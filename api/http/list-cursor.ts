/**
 * Cursors of lists. A cursor is a position in one list, encrypted, so clients can neither read nor forge it. It is
 * bound to the list, the workspace, the filter and the order of the request that returned it; in any other request it
 * is refused. The limit may change from page to page. A cursor has no end of its own: it is valid as long as
 * MASTER_KEY, except in an order that comes from a snapshot (src/stores/list-snapshots.ts).
 */
import { createHash } from 'node:crypto'
import type { Caller } from '#src/auth/keys.ts'
import type { Context } from '#src/context.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import type { ListPosition, PageRequest } from '#src/stores/page.ts'

/** The request of a list, as its handler gets it. */
export interface ListRequest {
  readonly caller: Caller | null
  readonly params?: unknown
  readonly query: { readonly page?: number; readonly limit: number; readonly cursor?: string | undefined }
}

/** The requested page of a list. */
export interface ListPage extends PageRequest {
  /** The response has `next_cursor`. */
  readonly isByCursor: boolean
  /** The cursor of a position in this list. */
  readonly cursorOf: (position: ListPosition) => string
}

const PREFIX = 'cur_'
const CURSOR = /^cur_[\w-]*$/
const PURPOSE = 'list-cursor'
const FORGED = refuseCursor('is not a cursor of this service. Use `next_cursor` of an earlier response')
const FOREIGN = refuseCursor(
  'belongs to another list, filter or order. Repeat the parameters of the request that returned it',
)

/** The snapshot of the order was deleted. */
export const EXPIRED_CURSOR = refuseCursor('was not used for an hour and has expired')

function refuseCursor(reason: string): Refusal {
  return invalid([{ path: 'cursor', message: `${reason}, or start again with an empty cursor` }])
}

/**
 * Reads the `next` of a list that had cursors of its own first, and returns them still. Null for other text. A request
 * with one gets no `next_cursor`.
 */
type EarlierCursor = (text: string) => string | null

/** Reads which page is requested. `list` is the name of the route. */
export function openPage(
  ctx: Pick<Context, 'encryption'>, // read only with a cursor: it loads the keys of the process
  list: string,
  request: ListRequest,
  readEarlier?: EarlierCursor,
): ListPage | Refusal {
  const { page = 1, limit, cursor } = request.query
  const binding = bindingOf(list, request)
  const cursorOf = (position: ListPosition): string => writeCursor(ctx.encryption, { ...position, binding })
  if (cursor === undefined) return { page, limit, isByCursor: false, cursorOf }
  if (cursor === '') return { page: 1, limit, at: null, isByCursor: true, cursorOf }
  const key = CURSOR.test(cursor) ? null : (readEarlier?.(cursor) ?? null)
  if (key !== null) return { page, limit, at: { key: [key], before: 0, total: 0 }, isByCursor: false, cursorOf }
  const read = readCursor(ctx.encryption, cursor)
  if (read === null) return FORGED
  if (read.binding !== binding) return FOREIGN
  return { page: Math.floor(read.before / limit) + 1, limit, at: read, isByCursor: true, cursorOf }
}

/** A digest of everything that decides which items are in the list and in which order. */
function bindingOf(list: string, { caller, params, query }: ListRequest): string {
  const { page: _page, limit: _limit, cursor: _cursor, ...rest } = query
  const filter = Object.entries({ ...rest, ...(params as object | undefined) })
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([list, caller?.workspaceId ?? null, filter]))
    .digest('base64url')
    .slice(0, 22)
}

interface BoundPosition extends ListPosition {
  readonly binding: string
}

function writeCursor(encryption: Context['encryption'], { binding, before, total, key }: BoundPosition): string {
  return PREFIX + encryption.encrypt(PURPOSE, JSON.stringify([binding, before, total, ...key])).toString('base64url')
}

/** Null for text that this service did not write. */
function readCursor(encryption: Context['encryption'], text: string): BoundPosition | null {
  if (!CURSOR.test(text)) return null
  try {
    const plain = encryption.decrypt(PURPOSE, Buffer.from(text.slice(PREFIX.length), 'base64url')).toString()
    const [binding, before, total, ...key] = JSON.parse(plain) as [string, number, number, ...string[]]
    return { binding, before, total, key }
  } catch {
    return null // decrypt throws for every value that it did not encrypt
  }
}
