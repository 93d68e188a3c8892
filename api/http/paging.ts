/**
 * Pages of lists: `limit` is 50 by default, at most 1000 (more gets 400). A page is named by its number (`page`, from
 * 1) or by a `cursor` (list-cursor.ts). A response has the paging fields in both forms that clients read: flat, and
 * under `meta`. Only a request with a cursor, which may be empty, gets `next_cursor`: other responses have exactly the
 * fields of the specification.
 */
import { z } from 'zod'
import type { Page } from '#src/stores/page.ts'
import type { ListPage } from './list-cursor.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000
/** No client reads this far; it bounds the OFFSET of the query. */
const MAX_PAGE = 1_000_000
const MAX_CURSOR = 4000

const wholeNumber = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)

// OpenAPI describes these as integers, although a query consists of text
const page = wholeNumber
  .pipe(z.number().min(1, 'starts at 1').max(MAX_PAGE, `at most ${MAX_PAGE}`))
  .default(1)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 1 })
const limit = wholeNumber
  .pipe(z.number().min(1, 'at least 1').max(MAX_LIMIT, `at most ${MAX_LIMIT}`))
  .default(DEFAULT_LIMIT)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })
const cursor = z.string().max(MAX_CURSOR, 'is too long').optional().meta({
  description: 'instead of `page`: `next_cursor` of an earlier response with the same filter; empty for the first page',
})

/** The limit of a list that was returned as a whole before it had pages: all of it by default. */
export const wholeLimit = limit
  .unwrap()
  .default(MAX_LIMIT)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: MAX_LIMIT })

/** The query of a list without other parameters. */
export const paging = z.object({ page, limit, cursor })

/** The `data` of a list response, with the items under `name`. */
export function pageData<T>(name: string, { items, total, next }: Page<T>, request: ListPage): Record<string, unknown> {
  const { page: number, limit: size } = request
  const hasMore = next === undefined ? number * size < total : next !== null
  return {
    [name]: items,
    page: number,
    limit: size,
    total,
    totalPages: Math.ceil(total / size),
    meta: { total, page: number, limit: size, has_more: hasMore },
    ...nextCursor(next, request),
  }
}

/** `next_cursor`, if the page was requested by a cursor. */
export function nextCursor(
  next: Page<unknown>['next'],
  { isByCursor, cursorOf }: ListPage,
): { readonly next_cursor?: string | null } {
  return next === undefined || !isByCursor ? {} : { next_cursor: next === null ? null : cursorOf(next) }
}
