/**
 * Text as the content of a MIME part: CRLF line ends, UTF-8, and the simplest transfer encoding: 7bit where the text
 * can travel unchanged, else quoted-printable, or base64 where most of it is not ASCII. The output is always ASCII.
 */
import type { HeaderField } from './draft.ts'
import { makeField } from './field.ts'
import { encodeQuotedPrintable } from './quoted-printable.ts'

/** RFC 5322 §2.1.1, without the CRLF. */
const MAX_LINE = 998
const BASE64_LINE = 76

interface Encoded {
  readonly encoding: '7bit' | 'quoted-printable' | 'base64'
  readonly body: string
}
export interface TextPart {
  readonly fields: readonly HeaderField[]
  readonly body: string
}

/** The text with every CRLF, bare CR and bare LF as one CRLF. */
export function withCrlf(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n?|\n/g, '\r\n') : text.replaceAll('\n', '\r\n')
}

/** `text` must have been through `withCrlf`. */
export function makeTextPart(type: 'text/plain' | 'text/html', text: string): TextPart {
  const { encoding, body } = encode(text)
  return {
    fields: [makeField('Content-Type', `${type}; charset=utf-8`), makeField('Content-Transfer-Encoding', encoding)],
    body,
  }
}

function encode(text: string): Encoded {
  if (isSevenBit(text)) return { encoding: '7bit', body: text }
  const bytes = Buffer.from(text)
  const isMostlyForeign = countForeign(bytes) * 2 > bytes.length
  if (isMostlyForeign) return { encoding: 'base64', body: wrapBase64(bytes) }
  return { encoding: 'quoted-printable', body: encodeQuotedPrintable(bytes) }
}

/** RFC 2045 §2.7, and nothing that mail servers are known to change ("From " gets a ">" in mailbox files). */
function isSevenBit(text: string): boolean {
  const isAscii = Buffer.byteLength(text) === text.length
  return isAscii && !text.includes('\0') && !hasLongLine(text) && !text.startsWith('From ') && !text.includes('\nFrom ')
}

function hasLongLine(text: string): boolean {
  for (let from = 0; from + MAX_LINE < text.length;) {
    const end = text.indexOf('\r\n', from)
    if ((end < 0 ? text.length : end) - from > MAX_LINE) return true
    if (end < 0) return false
    from = end + 2
  }
  return false
}

function countForeign(bytes: Buffer): number {
  let count = 0
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] ?? 0) > 127) count++
  return count
}

function wrapBase64(bytes: Buffer): string {
  const text = bytes.toString('base64')
  const lines: string[] = []
  for (let from = 0; from < text.length; from += BASE64_LINE) lines.push(text.slice(from, from + BASE64_LINE))
  return lines.join('\r\n')
}
