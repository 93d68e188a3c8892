/**
 * Static texts with an ETag: a client that already has the text gets 304 (RFC 9110 §13.1.2). A long text is compressed
 * once, for the clients that accept gzip.
 */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { ApiResponse } from './route.ts'

export interface TaggedText {
  readonly text: string
  readonly type: string
  readonly etag: string
  /** The text in gzip. */
  readonly gzip?: Buffer
}

/** The ETag is weak: the response may be compressed, and is the same text then in other octets (RFC 9110 §8.8.1). */
export function withEtag(text: string, type: string): TaggedText {
  return { text, type, etag: `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

/** The same, also in gzip. Compressing takes about 10 ms for a megabyte: only for texts that are made once. */
export function withCompression(text: string, type: string): TaggedText {
  return { ...withEtag(text, type), gzip: gzipSync(text) }
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
  const { text, type, gzip } = tagged
  const mayCompress = gzip !== undefined && acceptsGzip(requestHeaders['accept-encoding'])
  // another encoding is another representation, with a tag of its own (RFC 9110 §8.8.3.3)
  const etag = mayCompress ? tagged.etag.replace(/"$/, '-gzip"') : tagged.etag
  const headers = { ETag: etag, ...(gzip === undefined ? {} : { Vary: 'Accept-Encoding' }), ...extraHeaders }
  if (matchesEtag(requestHeaders['if-none-match'], etag)) return { status: 304, headers }
  return mayCompress
    ? { body: gzip, type, headers: { ...headers, 'Content-Encoding': 'gzip' } }
    : { body: text, type, headers }
}

/** RFC 9110 §12.5.3: named, or by `*`, with a weight above 0. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const items = String(header ?? '').split(',')
  const found =
    items.find((item) => /^\s*(?:x-)?gzip\s*(?:;|$)/i.test(item)) ?? items.find((item) => /^\s*\*/.test(item))
  return found !== undefined && !/;\s*q=0(?:\.0*)?\s*$/i.test(found)
}

/** The `additionalResponses` of a route that uses `respondTagged`. */
export const NOT_MODIFIED_RESPONSE = {
  304: { when: 'not modified: `If-None-Match` of the request has the current ETag' },
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  return (
    header
      ?.split(',')
      .some(
        (candidate) => candidate.trim().replace(/^W\//, '') === etag.replace(/^W\//, '') || candidate.trim() === '*',
      ) === true
  )
}
