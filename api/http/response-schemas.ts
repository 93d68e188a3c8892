/** The zod schemas that responses share: envelope, paged list, error. The `response` of a route is built from these. */
import { z, type ZodType } from 'zod'
import { ERRORS, LIMIT_REASONS, type ErrorCode, type LimitReason } from '#src/platform/errors.ts'

const detail = z.object({
  path: z.string().meta({ description: 'the field, such as to.1.email; empty for the request as a whole' }),
  message: z.string(),
})

/** The warnings that a response may have beside its own fields. */
export const warned = {
  warnings: z.array(detail).optional().meta({
    description: 'fields of the request that are unknown and were ignored; errors with Prefer: handling=strict',
  }),
}

/** `{success: true, message, data}`. */
export function envelope<T extends ZodType>(data: T): ZodType {
  return z.object({ success: z.literal(true), message: z.string(), data, ...warned })
}

/** `{success: true, message}`. */
export const plainResponse = z
  .object({ success: z.literal(true), message: z.string(), ...warned })
  .meta({ id: 'PlainAnswer' })

const count = z.int().min(0)
const pageMeta = z.object({ total: count, page: count, limit: count, has_more: z.boolean() }).meta({ id: 'PageMeta' })

/** Of a list that was requested with a cursor. */
export const nextCursorField = {
  next_cursor: z
    .string()
    .nullish()
    .meta({ description: 'only after a request with `cursor`: the cursor of the next page; null after the last one' }),
}

/** One page of a list: `pageData` of paging.ts in the envelope. */
export function pagedList(name: string, item: ZodType): ZodType {
  return envelope(
    z.object({
      [name]: z.array(item),
      page: count,
      limit: count,
      total: count,
      totalPages: count,
      meta: pageMeta,
      ...nextCursorField,
    }),
  )
}

/** A `Translation` (src/platform/coded-text.ts). */
export const translation = z
  .object({
    code: z.string().meta({ description: 'of the sentence; codes do not change, and new ones may come' }),
    params: z.record(z.string(), z.string()).meta({ description: 'what the sentence names' }),
    get param_translations() {
      return z
        .record(z.string(), translation)
        .optional()
        .meta({ description: 'of those params that are sentences themselves' })
    },
  })
  .meta({ id: 'Translation', description: 'for clients that show a sentence in another language' })

/** Beside `reason`. */
export const reasonTranslationField = {
  reason_translation: translation
    .nullish()
    .meta({ description: 'with Prefer: translations: of the reason; null: there is none' }),
}

/** ISO 8601 in UTC, as `toISOString` writes it. */
export const timestamp = z.iso.datetime()

const finding = z.object({
  code: z.string(),
  message: z.string(),
  may_force: z.boolean().meta({ description: 'whether the same request with `force: true` is accepted despite it' }),
})

/** The body of every error. */
export const errorBody = z
  .object({
    success: z.literal(false),
    error: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    reason: z
      .enum(Object.keys(LIMIT_REASONS) as [LimitReason, ...LimitReason[]])
      .optional()
      .meta({ description: 'on RATE_LIMITED: which limit is reached' }),
    findings: z.array(finding).optional().meta({ description: 'on a CONFLICT of a campaign: why it cannot be sent' }),
    message_translation: translation
      .nullish()
      .meta({ description: 'with Prefer: translations, if there are no details: of the message; null: there is none' }),
    details: z.array(detail).optional().meta({ description: 'on a VALIDATION_ERROR' }),
    detail_translations: z
      .array(translation.nullable())
      .optional()
      .meta({ description: 'with Prefer: translations: of the details, in their order; null: there is none' }),
    doc_url: z.url().meta({ description: 'where this error is explained' }),
    request_id: z
      .string()
      .meta({ description: 'the X-Request-Id of the response; quote it when you report a problem' }),
    ...warned,
  })
  .meta({ id: 'ErrorBody' })
