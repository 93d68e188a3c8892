/** Sends responses and errors: JSON in the shape of the API contract, with their headers. */
import { Readable } from 'node:stream'
import type Koa from 'koa'
import { ERRORS, type Refusal } from '#src/platform/errors.ts'
import type { ApiResponse } from './route.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function isRefusal(result: object): result is Refusal {
  return 'error' in result
}

export function sendResponse(koa: Koa.Context, status: number, response: ApiResponse): void {
  if (response.headers !== undefined)
    for (const [name, value] of Object.entries(response.headers)) koa.res.setHeader(name, value)
  koa.status = response.status ?? status
  if (response.body === undefined) return
  koa.res.setHeader('Content-Type', response.type ?? JSON_TYPE)
  const { body } = response
  koa.body = typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable ? body : JSON.stringify(body)
}

/** Sends an error as JSON, or as the given page. */
export function sendRefusal(koa: Koa.Context, refusal: Refusal, page?: ApiResponse): void {
  if (refusal.retryAfter !== undefined) koa.res.setHeader('Retry-After', refusal.retryAfter)
  if (refusal.error === 'UNAUTHORIZED') koa.res.setHeader('WWW-Authenticate', 'Bearer')
  sendResponse(koa, ERRORS[refusal.error].status, page ?? { body: refusalBody(refusal) })
}

/** The body of every error. */
export function refusalBody(refusal: Refusal): {
  success: false
  error: string
  message: string
  details?: Refusal['details']
} {
  const { error, message, details } = refusal
  return details === undefined ? { success: false, error, message } : { success: false, error, message, details }
}
