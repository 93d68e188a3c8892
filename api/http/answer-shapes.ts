/** The shapes that answers share, as schemas: the envelope, a list in pages, an error. A route's `answer` is made from these. */
import { z, type ZodType } from 'zod'
import { ERRORS, type ErrorCode } from '#src/platform/errors.ts'

/** `{success: true, message, data}`. */
export function enveloped<T extends ZodType>(data: T): ZodType {
  return z.object({ success: z.literal(true), message: z.string(), data })
}

/** `{success: true, message}`. */
export const plainAnswer = z.object({ success: z.literal(true), message: z.string() }).meta({ id: 'PlainAnswer' })

const count = z.int().min(0)
const pageMeta = z.object({ total: count, page: count, limit: count, has_more: z.boolean() }).meta({ id: 'PageMeta' })

/** The answer of a list: `pageData` of paging.ts in the envelope. */
export function pageOf(name: string, item: ZodType): ZodType {
  return enveloped(
    z.object({ [name]: z.array(item), page: count, limit: count, total: count, totalPages: count, meta: pageMeta }),
  )
}

/** ISO 8601 in UTC, as toISOString writes it. */
export const moment = z.iso.datetime()

const detail = z.object({
  path: z.string().meta({ description: 'the field, such as to.1.email; empty for the request as a whole' }),
  message: z.string(),
})

/** Every error. */
export const errorBody = z
  .object({
    success: z.literal(false),
    error: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    details: z.array(detail).optional().meta({ description: 'on a VALIDATION_ERROR' }),
  })
  .meta({ id: 'ErrorBody' })
