/**
 * `fetch` for libraries, over the HTTP client that refuses private addresses, redirects and endless responses. Fails as
 * fetch does, by rejecting; a response that is cut is an error, never half a document.
 */
import type { HttpClient } from '#src/net/http-client.ts'

export interface FetchOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type GuardedFetch = (url: string, options: FetchOptions) => Promise<Response>

/** For one request, from DNS to the last byte. */
const TIMEOUT_MS = 10_000
/** Documents of providers have a few KB. */
const MAX_BYTES = 256 * 1024
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

export function guardedFetch(http: HttpClient, timeoutMs = TIMEOUT_MS): GuardedFetch {
  return async (url, { method, headers, body }) => {
    const common = { headers, timeoutMs, maxBytes: MAX_BYTES }
    const result =
      method === 'POST' ? await http.post(url, { ...common, body: bodyText(body) }) : await http.get(url, common)
    if (!result.ok) throw new Error(`the request to ${new URL(url).host} failed: ${result.detail}`)
    if (!result.isComplete) throw new Error(`the response of ${new URL(url).host} is too long or too slow`)
    // RFC 9110: statuses below 200 never arrive here, and fetch allows none
    if (result.status < 200 || result.status > 599) throw new Error(`status ${result.status}`)
    return new Response(WITHOUT_BODY.has(result.status) ? null : new Uint8Array(result.bytes), {
      status: result.status,
      headers: result.contentType === null ? {} : { 'content-type': result.contentType },
    })
  }
}

function bodyText(body: unknown): string {
  if (body instanceof URLSearchParams) return body.toString()
  return typeof body === 'string' ? body : ''
}
