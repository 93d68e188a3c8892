/**
 * Pages of lists: `page` from 1; `limit` 50 by default, at most 1000 (more gets 400). A response has the paging fields
 * in both forms that clients read: flat, and under `meta`.
 */
import { z } from 'zod'
import type { Page, PageRequest } from '#src/stores/page.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000
/** No client reads this far; it bounds the OFFSET of the query. */
const MAX_PAGE = 1_000_000

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

/** The query of a list without other parameters. */
export const paging = z.object({ page, limit })

/** The `data` of a list response, with the items under `name`. */
export function pageData<T>(name: string, result: Page<T>, request: PageRequest): Record<string, unknown> {
  const { total } = result
  return {
    [name]: result.items,
    page: request.page,
    limit: request.limit,
    total,
    totalPages: Math.ceil(total / request.limit),
    meta: { total, page: request.page, limit: request.limit, has_more: request.page * request.limit < total },
  }
}
