/**
 * Decodes the value of a header field for people: unfolds it, decodes encoded words (RFC 2047), and reads octets beyond
 * ASCII as UTF-8 if they are valid UTF-8. For display and storage, never for forwarding. Text that is longer than any
 * subject is truncated, and text that cannot be decoded is returned unchanged.
 */

const MAX_OCTETS = 16_384
const MAX_CHARACTERS = 998
/**
 * RFC 2047 2: charset (with a language, RFC 2231 5), encoding, text. White space between two encoded words is ignored.
 */
const ENCODED_WORD = /=\?([!-<>@-~]{1,40}?)(?:\*[A-Za-z0-9-]{0,20})?\?([bq])\?([!->@-~]*)\?=/gi
const SPACE_BETWEEN_WORDS = /(\?=)[ \t]+(?==\?[!-<>@-~]{1,40}\?[bq]\?[!->@-~]*\?=)/gi
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** `octets` has one character for each octet. Returns one line without control characters. */
export function decodeHeaderText(octets: string): string {
  const text = decodeOctets(octets.slice(0, MAX_OCTETS).replaceAll(/\r?\n/g, ''))
  return toOneLine(text.includes('=?') ? decodeWords(text) : text)
}

/** The octets as characters: UTF-8 if valid (RFC 6532), otherwise Latin-1. */
export function decodeOctets(octets: string): string {
  if (Buffer.byteLength(octets) === octets.length) return octets
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(octets, 'latin1'))
  } catch {
    return octets
  }
}

/** Decodes the encoded words of a text. A word that cannot be decoded stays unchanged. */
export function decodeWords(text: string): string {
  return text
    .replaceAll(SPACE_BETWEEN_WORDS, '$1')
    .replaceAll(ENCODED_WORD, (word, charset: string, encoding: string, content: string) => {
      const bytes = encoding.toLowerCase() === 'b' ? Buffer.from(content, 'base64') : readQ(content)
      try {
        return new TextDecoder(charset).decode(bytes)
      } catch {
        return word
      }
    })
}

/** RFC 2047 4.2 */
function readQ(content: string): Buffer {
  const octetOf = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
  return Buffer.from(content.replaceAll('_', ' ').replaceAll(/=([0-9A-F]{2})/gi, octetOf), 'latin1')
}

function toOneLine(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ').toWellFormed().trim().slice(0, MAX_CHARACTERS).toWellFormed()
}
