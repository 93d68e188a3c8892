/**
 * The custom headers of a send: names by RFC 5322 §3.6.8, values on one line. Mailstead sets the headers that identify,
 * route, date, sign or structure the message. These cannot be set here, and neither can headers that have a field of
 * their own in the request.
 */
import { z } from 'zod'

const MAX_HEADERS = 100
const MAX_NAME = 100
const MAX_VALUE = 4000
/** A line has at most 998 octets (RFC 5322 §2.1.1) and can be folded only at white space. */
const MAX_WORD = 900

const FORBIDDEN = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'date',
  'message-id',
  'received',
  'return-path',
  'dkim-signature',
  'subject',
  'reply-to',
  'sender',
  'mime-version',
  'delivered-to',
  'authentication-results',
])
const FORBIDDEN_PREFIXES = ['content-', 'resent-', 'arc-']
/** ftext: printable ASCII except the colon. */
const HEADER_NAME = /^[!-9;-~]+$/

export type CustomHeader = readonly [name: string, value: string]

const headerObject = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()], 'must be a string'))
  .transform((given) => Object.entries(given))
const headerList = z
  .array(z.object({ name: z.string(), value: z.string() }))
  .transform((given) => given.map(({ name, value }) => [name, value] as const))

const givenHeaders = z.union([headerObject, headerList], 'must be an object with names and values').nullish()
type GivenHeaders = z.output<typeof givenHeaders>

export const headers = givenHeaders.transform((given, sink) => readHeaders(given, sink) ?? [])
/** The headers of a change; null if absent, so that they stay. */
export const changedHeaders = givenHeaders.transform(readHeaders)

function readHeaders(given: GivenHeaders, sink: z.core.$RefinementCtx): CustomHeader[] | null {
  if (given === undefined || given === null) return null
  const found = given.map(([name, value]): CustomHeader => [name, String(value)])
  if (found.length > MAX_HEADERS) sink.addIssue({ code: 'custom', message: `at most ${MAX_HEADERS} headers` })
  for (const [name, value] of found.slice(0, MAX_HEADERS)) {
    const reason = validateName(name) ?? validateValue(value)
    if (reason !== null) sink.addIssue({ code: 'custom', path: [name.slice(0, MAX_NAME)], message: reason })
  }
  return found
}

function validateName(name: string): string | null {
  if (!HEADER_NAME.test(name) || name.length > MAX_NAME)
    return `is not a valid header name (printable ASCII without a colon, at most ${MAX_NAME} characters)`
  const lower = name.toLowerCase()
  return FORBIDDEN.has(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix))
    ? 'cannot be set or overridden'
    : null
}

function validateValue(value: string): string | null {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value.replaceAll('\t', ' '))) return 'contains a line break or a control character'
  if (value.length > MAX_VALUE) return `is longer than ${MAX_VALUE} characters`
  return value.split(/[ \t]/).some((word) => Buffer.byteLength(word) > MAX_WORD)
    ? `has more than ${MAX_WORD} octets without a space`
    : null
}
