/** Single requests to the API that is measured, outside of the measurements. */
import type { Readable } from 'node:stream'
import { Trouble } from '#bin/supervisor/user-error.ts'
import type { Admin } from './mailstead.ts'

/** `data` of the answer below /api/v1/public; a stream is sent as CSV. Throws Trouble when it is refused. */
export async function call<T>(
  { url, key }: Admin,
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
  if (!response.ok) throw new Trouble(`${method} ${path} was answered ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { data: T }).data
}
