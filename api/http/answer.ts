/** How answers and refusals leave: as JSON in the one shape of the contract, with the headers that belong to them. */
import { Readable } from 'node:stream'
import type Koa from 'koa'
import { ERRORS, type Refusal } from '#src/platform/errors.ts'
import type { Answer } from './route.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function isRefusal(result: object): result is Refusal {
  return 'error' in result
}

export function sendAnswer(koa: Koa.Context, status: number, answer: Answer): void {
  if (answer.headers !== undefined)
    for (const [name, value] of Object.entries(answer.headers)) koa.res.setHeader(name, value)
  koa.status = answer.status ?? status
  if (answer.body === undefined) return
  koa.res.setHeader('Content-Type', answer.type ?? JSON_TYPE)
  const { body } = answer
  koa.body = typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable ? body : JSON.stringify(body)
}

/** As JSON, or as the page given. */
export function sendRefusal(koa: Koa.Context, refusal: Refusal, page?: Answer): void {
  if (refusal.retryAfter !== undefined) koa.res.setHeader('Retry-After', refusal.retryAfter)
  if (refusal.error === 'UNAUTHORIZED') koa.res.setHeader('WWW-Authenticate', 'Bearer')
  sendAnswer(koa, ERRORS[refusal.error].status, page ?? { body: refusalBody(refusal) })
}

/** The shape of every error. */
export function refusalBody(refusal: Refusal): {
  success: false
  error: string
  message: string
  details?: Refusal['details']
} {
  const { error, message, details } = refusal
  return details === undefined ? { success: false, error, message } : { success: false, error, message, details }
}
