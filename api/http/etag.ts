/** Texts that are made once and then only asked for: with an ETag, so that who has them already is told so (RFC 9110 §13.1.2). */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from './route.ts'

export interface TaggedText {
  readonly text: string
  readonly type: string
  readonly etag: string
}

export function tag(text: string, type: string): TaggedText {
  return { text, type, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

/** Asked for again each time, but sent only when it has changed. */
export const REVALIDATE = { 'Cache-Control': 'public, no-cache' }
/** For addresses that name their content. */
export const FOREVER = { 'Cache-Control': 'public, max-age=31536000, immutable' }

/** The text with these headers, or 304 to a client that has it. */
export function serve(tagged: TaggedText, asked: IncomingHttpHeaders, more: Readonly<Record<string, string>>): Answer {
  const headers = { ETag: tagged.etag, ...more }
  return has(asked['if-none-match'], tagged.etag)
    ? { status: 304, headers }
    : { body: tagged.text, type: tagged.type, headers }
}

/** What `further` of such a route says. */
export const NOT_MODIFIED = { 304: { when: 'not modified: the `If-None-Match` of the request names what there is' } }

function has(given: string | undefined, etag: string): boolean {
  return given?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag || one.trim() === '*') === true
}
