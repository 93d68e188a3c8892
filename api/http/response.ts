/** Sends responses and errors: JSON in the shape of the API contract, with their headers. */
import { Readable } from 'node:stream'
import type Koa from 'koa'
import { ERRORS, type Detail, type Refusal } from '#src/platform/errors.ts'
import { findFieldTranslation } from '#src/platform/field-texts.ts'
import { detachResponse } from './detached-response.ts'
import { findRefusalTranslation } from './refusal-texts.ts'
import type { ApiResponse } from './route.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function isRefusal(result: object): result is Refusal {
  return 'error' in result
}

export function sendResponse(koa: Koa.Context, status: number, response: ApiResponse): void {
  if (response.headers !== undefined)
    for (const [name, value] of Object.entries(response.headers)) koa.res.setHeader(name, value)
  koa.status = response.status ?? status
  const { body, stream } = response
  if (body === undefined && stream === undefined) return
  koa.res.setHeader('Content-Type', response.type ?? JSON_TYPE)
  if (stream !== undefined) return detachResponse(koa, stream)
  koa.body = typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable ? body : JSON.stringify(body)
}

/** A smaller body fits into one packet, also without compression. */
const LARGE_BYTES = 1400

/** Whether compression may be worth it. A stream has no length and counts as large. */
export function isLarge(koa: Koa.Context): boolean {
  return (koa.length ?? Infinity) >= LARGE_BYTES
}

/** Adds the warnings to a JSON object; other bodies have no place for them. */
export function withWarnings(response: ApiResponse, warnings: readonly Detail[]): ApiResponse {
  const { body, type } = response
  if (warnings.length === 0 || body === undefined || type !== undefined) return response
  if (Buffer.isBuffer(body) || body instanceof Readable || Array.isArray(body)) return response
  if (typeof body !== 'string') return { ...response, body: { ...body, warnings } }
  if (!body.startsWith('{"')) return response
  return { ...response, body: `${body.slice(0, -1)},"warnings":${JSON.stringify(warnings)}}` }
}

/** What an error names beside its cause. */
export interface ErrorSource {
  readonly requestId: string
  /** PUBLIC_URL: the place of the documentation. */
  readonly publicUrl: string
  /** Unknown fields of the request. */
  readonly warnings?: readonly Detail[]
  /** The client asks for the codes of the message or of the details. */
  readonly hasTranslations?: boolean
}

/** The page that explains every code. */
export const ERROR_DOCS_PATH = '/docs/errors'

/** Sends an error as JSON, or as the given page. */
export function sendRefusal(koa: Koa.Context, refusal: Refusal, source: ErrorSource, page?: ApiResponse): void {
  if (refusal.retryAfter !== undefined) koa.res.setHeader('Retry-After', refusal.retryAfter)
  for (const [name, value] of Object.entries(refusal.headers ?? {})) koa.res.setHeader(name, value)
  if (refusal.error === 'UNAUTHORIZED') koa.res.setHeader('WWW-Authenticate', 'Bearer')
  sendResponse(koa, ERRORS[refusal.error].status, page ?? { body: refusalBody(refusal, source) })
}

/** The body of every error. */
export function refusalBody(
  refusal: Refusal,
  { requestId, publicUrl, warnings = [], hasTranslations = false }: ErrorSource,
): Record<string, unknown> {
  const { error, message, reason, findings, details } = refusal
  return {
    success: false,
    error,
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(findings === undefined ? {} : { findings }),
    ...(details === undefined ? {} : { details }),
    ...(hasTranslations ? translationsOf(refusal) : {}),
    doc_url: `${publicUrl.replace(/\/+$/, '')}${ERROR_DOCS_PATH}#${error}`,
    request_id: requestId,
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}

/** Of an invalid request, the message is the first detail. */
function translationsOf({ message, details }: Refusal): Record<string, unknown> {
  return details === undefined
    ? { message_translation: findRefusalTranslation(message) }
    : { detail_translations: details.map((detail) => findFieldTranslation(detail.message)) }
}
