/** The response headers in the OpenAPI document. */
import type { Json } from './schemas.ts'
import type { AnyRoute } from '#api/http/route.ts'

/** All headers that a response may have. */
export const HEADERS = {
  'X-Request-Id': header(
    'string',
    'The id of this request in the log of the service. Quote it when you report a problem.',
  ),
  'X-RateLimit-Limit': header(
    'integer',
    'Requests that the plan allows in the window. In every response to a valid key.',
  ),
  'X-RateLimit-Remaining': header('integer', 'Requests left in the window.'),
  'X-RateLimit-Reset': header('integer', 'When the window ends, in Unix seconds.'),
  'Retry-After': header('integer', 'Whole seconds to wait before you try again.'),
  'Idempotent-Replayed': header(
    'string',
    '`true` if this is the stored response to an earlier request with the same Idempotency-Key.',
  ),
}

export const RATE_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

function header(type: 'string' | 'integer', description: string): Json {
  return { description, schema: { type } }
}

export function headersOf(names: readonly (keyof typeof HEADERS)[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The headers of an endpoint's success. */
export function listSuccessHeaders(spec: AnyRoute): Json {
  const rate = spec.access === 'public' || spec.access === 'operator' ? [] : RATE_HEADERS
  return headersOf(['X-Request-Id', ...rate, ...(isIdempotent(spec) ? (['Idempotent-Replayed'] as const) : [])])
}

/** Whether the endpoint accepts an Idempotency-Key: only such an endpoint can report a mismatch. */
export function isIdempotent(spec: AnyRoute): boolean {
  return spec.errors.includes('IDEMPOTENCY_MISMATCH')
}
