/** The zod schemas that responses share: envelope, paged list, error. The `response` of a route is built from these. */
import { z, type ZodType } from 'zod'
import { ERRORS, type ErrorCode } from '#src/platform/errors.ts'

/** `{success: true, message, data}`. */
export function envelope<T extends ZodType>(data: T): ZodType {
  return z.object({ success: z.literal(true), message: z.string(), data })
}

/** `{success: true, message}`. */
export const plainResponse = z.object({ success: z.literal(true), message: z.string() }).meta({ id: 'PlainAnswer' })

const count = z.int().min(0)
const pageMeta = z.object({ total: count, page: count, limit: count, has_more: z.boolean() }).meta({ id: 'PageMeta' })

/** One page of a list: `pageData` of paging.ts in the envelope. */
export function pagedList(name: string, item: ZodType): ZodType {
  return envelope(
    z.object({ [name]: z.array(item), page: count, limit: count, total: count, totalPages: count, meta: pageMeta }),
  )
}

/** ISO 8601 in UTC, as `toISOString` writes it. */
export const timestamp = z.iso.datetime()

const detail = z.object({
  path: z.string().meta({ description: 'the field, such as to.1.email; empty for the request as a whole' }),
  message: z.string(),
})

/** The body of every error. */
export const errorBody = z
  .object({
    success: z.literal(false),
    error: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    details: z.array(detail).optional().meta({ description: 'on a VALIDATION_ERROR' }),
  })
  .meta({ id: 'ErrorBody' })
