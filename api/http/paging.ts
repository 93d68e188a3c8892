/** Lists in pages: `page` from 1, `limit` 50 unless told, at most 1000 (more is refused, not cut). Answers have both shapes of a list. */
import { z } from 'zod'
import type { Page, PageWish } from '#src/stores/page.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000
/** Beyond this an offset is no page that anyone reads. */
const MAX_PAGE = 1_000_000

const whole = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)

// described as numbers: that a query is text is no client's business
const page = whole
  .pipe(z.number().min(1, 'starts at 1').max(MAX_PAGE, `at most ${MAX_PAGE}`))
  .default(1)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 1 })
const limit = whole
  .pipe(z.number().min(1, 'at least 1').max(MAX_LIMIT, `at most ${MAX_LIMIT}`))
  .default(DEFAULT_LIMIT)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })

/** The query of a list that has nothing but pages. */
export const paging = z.object({ page, limit })

/** The `data` of a list answer, its items under their own name. */
export function pageData<T>(name: string, found: Page<T>, asked: PageWish): Record<string, unknown> {
  const { total } = found
  return {
    [name]: found.items,
    page: asked.page,
    limit: asked.limit,
    total,
    totalPages: Math.ceil(total / asked.limit),
    meta: { total, page: asked.page, limit: asked.limit, has_more: asked.page * asked.limit < total },
  }
}
