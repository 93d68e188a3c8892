/** The shapes that answers share, as schemas: the envelope, and a list in pages. A route's `answer` is made from these. */
import { z, type ZodType } from 'zod'

/** `{success: true, message, data}`. */
export function enveloped<T extends ZodType>(data: T): ZodType {
  return z.object({ success: z.literal(true), message: z.string(), data })
}

/** `{success: true, message}`. */
export const plainAnswer = z.object({ success: z.literal(true), message: z.string() })

/** The answer of a list: `pageData` of paging.ts in the envelope. */
export function pageOf(name: string, item: ZodType): ZodType {
  const count = z.int().min(0)
  const meta = z.object({ total: count, page: count, limit: count, has_more: z.boolean() })
  return enveloped(z.object({ [name]: z.array(item), page: count, limit: count, total: count, totalPages: count, meta }))
}

/** ISO 8601 in UTC, as toISOString writes it. */
export const moment = z.iso.datetime()
