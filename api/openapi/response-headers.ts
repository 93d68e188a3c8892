/** The response headers in the OpenAPI document. */
import type { Json } from './schemas.ts'
import type { AnyRoute } from '#api/http/route.ts'

/** A limit, or its remainder. */
const LIMIT = { anyOf: [{ type: 'integer' }, { const: 'unlimited' }] }

/** All headers that a response may have. */
export const HEADERS = {
  'X-Request-Id': header(
    'string',
    'The id of this request in the log of the service. Quote it when you report a problem.',
  ),
  'X-RateLimit-Limit': header(LIMIT, 'Requests that the plan allows in 10 seconds. In every response to a valid key.'),
  'X-RateLimit-Remaining': header(LIMIT, 'Requests left in these 10 seconds.'),
  'X-RateLimit-Reset': header('integer', 'When they end, in Unix seconds. Absent if the plan has no limit.'),
  'X-Quota-Limit': header(LIMIT, 'Recipients that the plan allows in this month (UTC).'),
  'X-Quota-Remaining': header(LIMIT, 'Recipients left in this month.'),
  'X-Quota-Reset': header('integer', 'When the month ends, in Unix seconds. Absent if the plan has no quota.'),
  'Retry-After': header('integer', 'Whole seconds to wait before you try again.'),
  'Idempotent-Replayed': header(
    'string',
    '`true` if this is the stored response to an earlier request with the same Idempotency-Key.',
  ),
}

export const RATE_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const
const QUOTA_HEADERS = ['X-Quota-Limit', 'X-Quota-Remaining', 'X-Quota-Reset'] as const

function header(type: 'string' | 'integer' | Json, description: string): Json {
  return { description, schema: typeof type === 'string' ? { type } : type }
}

export function headersOf(names: readonly (keyof typeof HEADERS)[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The headers of an endpoint's success. */
export function listSuccessHeaders(spec: AnyRoute): Json {
  const rate = spec.access === 'public' || spec.access === 'operator' ? [] : RATE_HEADERS
  const quota = spec.countsQuota === true ? QUOTA_HEADERS : []
  const replayed = isIdempotent(spec) ? (['Idempotent-Replayed'] as const) : []
  return headersOf(['X-Request-Id', ...rate, ...quota, ...replayed])
}

/** Whether the endpoint accepts an Idempotency-Key: only such an endpoint can report a mismatch. */
export function isIdempotent(spec: AnyRoute): boolean {
  return spec.errors.includes('IDEMPOTENCY_MISMATCH')
}
