/** Static texts with an ETag: a client that already has the text gets 304 (RFC 9110 §13.1.2). */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { ApiResponse } from './route.ts'

export interface TaggedText {
  readonly text: string
  readonly type: string
  readonly etag: string
}

export function withEtag(text: string, type: string): TaggedText {
  return { text, type, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

/** Clients revalidate on every use; the text is sent only if it has changed. */
export const REVALIDATE = { 'Cache-Control': 'public, no-cache' }
/** For URLs that contain a digest of their content. */
export const IMMUTABLE = { 'Cache-Control': 'public, max-age=31536000, immutable' }

/** The text with these headers, or 304 if the client has it already. */
export function respondTagged(
  tagged: TaggedText,
  requestHeaders: IncomingHttpHeaders,
  extraHeaders: Readonly<Record<string, string>>,
): ApiResponse {
  const headers = { ETag: tagged.etag, ...extraHeaders }
  return matchesEtag(requestHeaders['if-none-match'], tagged.etag)
    ? { status: 304, headers }
    : { body: tagged.text, type: tagged.type, headers }
}

/** The `additionalResponses` of a route that uses `respondTagged`. */
export const NOT_MODIFIED_RESPONSE = {
  304: { when: 'not modified: `If-None-Match` of the request has the current ETag' },
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  return (
    header
      ?.split(',')
      .some((candidate) => candidate.trim().replace(/^W\//, '') === etag || candidate.trim() === '*') === true
  )
}
