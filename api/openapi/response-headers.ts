/** The headers of answers in the OpenAPI document. */
import type { Json } from './schemas.ts'
import type { AnyRoute } from '#api/http/route.ts'

/** What answers carry beside their body. */
export const HEADERS = {
  'X-Request-Id': header('string', 'Names this request in our log; quote it when you report a fault.'),
  'X-RateLimit-Limit': header(
    'integer',
    'Requests that the plan allows in the window. On every answer to a known key.',
  ),
  'X-RateLimit-Remaining': header('integer', 'Requests left in the window.'),
  'X-RateLimit-Reset': header('integer', 'When the window ends, in seconds since 1970.'),
  'Retry-After': header('integer', 'Whole seconds to wait before the next try.'),
  'Idempotent-Replayed': header(
    'string',
    '`true` on the repeated answer to a request that was done before under this Idempotency-Key.',
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

/** It reads the Idempotency-Key: only such an endpoint can refuse one. */
export function isIdempotent(spec: AnyRoute): boolean {
  return spec.errors.includes('IDEMPOTENCY_MISMATCH')
}
