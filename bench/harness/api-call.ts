/** Sends single requests to the measured API, outside of the measurements. */
import type { Readable } from 'node:stream'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { AdminAccess } from './mailstead.ts'

/**
 * Returns `data` of the response. `path` is below /api/v1/public; a stream is sent as CSV. Throws UserError when the
 * request is refused.
 */
export async function call<T>(
  { url, key }: AdminAccess,
  method: string,
  path: string,
  body: string | Readable | null,
): Promise<T> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': typeof body === 'string' ? 'application/json' : 'text/csv',
  }
  const response = await fetch(`${url}/api/v1/public${path}`, {
    method,
    headers,
    ...(body === null ? {} : { body, duplex: 'half' }),
  })
  if (!response.ok) throw UserError.of(`${method} ${path} returned ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { data: T }).data
}
