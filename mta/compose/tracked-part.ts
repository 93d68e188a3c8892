/**
 * Decodes the transfer encoding of a part, one character for each octet, and maps edits of the text back to edits of
 * the encoded octets. Quoted-printable re-encodes only the edited ranges; base64 is re-encoded as a whole, with its
 * original line length.
 */
import { applyEdits, type HtmlEdit } from '#src/tracking/html-tracking.ts'

export interface DecodedPart {
  readonly html: string
  /** Maps edits of `html` to edits of the octets; none if they cannot be made. */
  toOctetEdits(edits: readonly HtmlEdit[]): readonly HtmlEdit[]
}

const DECODERS: Readonly<Record<string, (octets: Buffer) => DecodedPart | null>> = {
  '7bit': decodePlain,
  '8bit': decodePlain,
  binary: decodePlain,
  'quoted-printable': decodeQuotedPart,
  base64: decodeBase64,
}

/** Null for an unknown encoding, and for invalid base64. */
export function decodePart(octets: Buffer, encoding: string): DecodedPart | null {
  return DECODERS[encoding]?.(octets) ?? null
}

/** RFC 5322 2.1.1 */
const MAX_LINE = 998

function decodePlain(octets: Buffer): DecodedPart {
  const html = octets.toString('latin1')
  // edits contain no line end, so a line can become too long
  return {
    html,
    toOctetEdits: (edits) =>
      longestLine(applyEdits(html, edits)) > Math.max(MAX_LINE, longestLine(html)) ? [] : edits,
  }
}

function longestLine(text: string): number {
  let longest = 0
  for (let at = 0, end = 0; end >= 0; at = end + 1) {
    end = text.indexOf('\n', at)
    longest = Math.max(longest, (end < 0 ? text.length : end) - at)
  }
  return longest
}

const EQUALS = 0x3d
const LF = 10
/** RFC 2045 6.7 (5), less the `=` at the end. */
const MAX_QUOTED_LINE = 75

function decodeQuotedPart(octets: Buffer): DecodedPart {
  const { html, places: offsets } = decodeQuoted(octets)
  const newLine = octets.includes('\r\n') ? '\r\n' : '\n'
  return {
    html,
    toOctetEdits: (edits) =>
      edits.map(({ from, to, text }) => {
        const end = offsets[to] ?? octets.length
        // a soft break on either side: no line grows
        const after = end === octets.length ? '' : `=${newLine}`
        return { from: offsets[from] ?? octets.length, to: end, text: `=${newLine}${quote(text, newLine)}${after}` }
      }),
  }
}

/** `places[i]`: where the octet that gives character i begins. */
function decodeQuoted(octets: Buffer): { readonly html: string; readonly places: Uint32Array } {
  const decoded = Buffer.allocUnsafe(octets.length)
  const offsets = new Uint32Array(octets.length + 1)
  let n = 0
  for (let i = 0; i < octets.length;) {
    const soft = octets[i] === EQUALS ? softBreak(octets, i) : 0
    if (soft > 0) {
      i += soft
      continue
    }
    const code = octets[i] === EQUALS ? hexAt(octets, i + 1) : null
    offsets[n] = i
    decoded[n++] = code ?? octets[i] ?? 0
    i += code === null ? 1 : 3
  }
  offsets[n] = octets.length
  return { html: decoded.toString('latin1', 0, n), places: offsets.subarray(0, n + 1) }
}

/** The length of the soft line break at `i`, 0 if there is none. Relays may have added white space after the `=`. */
function softBreak(octets: Buffer, i: number): number {
  let at = i + 1
  while (octets[at] === 0x20 || octets[at] === 0x09) at++
  if (octets[at] === 13) at++
  return octets[at] === LF ? at + 1 - i : 0
}

function hexAt(octets: Buffer, at: number): number | null {
  const text = octets.toString('latin1', at, at + 2)
  return /^[0-9a-f]{2}$/i.test(text) ? Number.parseInt(text, 16) : null
}

function quote(text: string, newLine: string): string {
  let out = ''
  let line = 0
  for (const letter of text) {
    const written = letter === '=' ? '=3D' : letter
    if (line + written.length > MAX_QUOTED_LINE) {
      out += `=${newLine}`
      line = 0
    }
    out += written
    line += written.length
  }
  return out
}

function decodeBase64(octets: Buffer): DecodedPart | null {
  const text = octets.toString('latin1')
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text)) return null
  const html = Buffer.from(text, 'base64').toString('latin1')
  const [, first = '', newLine = '\r\n'] = /^\s*(\S+)(\r?\n)?/.exec(text) ?? []
  const lines: LineFormat = { width: lineWidth(first), newLine, tail: /\s*$/.exec(text)?.[0] ?? '' }
  return {
    html,
    toOctetEdits: (edits) =>
      edits.length === 0 ? [] : [{ from: 0, to: octets.length, text: encode(html, edits, lines) }],
  }
}

function lineWidth(first: string): number {
  return Math.min(Math.max(first.length - (first.length % 4), 4), 76)
}

interface LineFormat {
  readonly width: number
  readonly newLine: string
  readonly tail: string
}

function encode(html: string, edits: readonly HtmlEdit[], { width, newLine, tail }: LineFormat): string {
  const coded = Buffer.from(applyEdits(html, edits), 'latin1').toString('base64')
  return (coded.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(newLine) + tail
}
