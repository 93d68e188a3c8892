/**
 * What the value of a header field says, for people: unfolded, its encoded words (RFC 2047) decoded, octets beyond ASCII read as UTF-8
 * where they are that. For showing and storing, never for sending on. Bounded: what is longer than any subject is cut, and what cannot be
 * decoded stays as it was written.
 */

const MAX_OCTETS = 16_384
const MAX_CHARACTERS = 998
/** RFC 2047 2: charset (with a language, RFC 2231 5), encoding, text; white space between two of them is none. */
const WORD = /=\?([!-<>@-~]{1,40}?)(?:\*[A-Za-z0-9-]{0,20})?\?([bq])\?([!->@-~]*)\?=/gi
const BETWEEN_WORDS = /(\?=)[ \t]+(?==\?[!-<>@-~]{1,40}\?[bq]\?[!->@-~]*\?=)/gi
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** `octets` has one character for each octet. One line without control characters comes out. */
export function readHeaderText(octets: string): string {
  const text = readOctets(octets.slice(0, MAX_OCTETS).replaceAll(/\r?\n/g, ''))
  return tidy(text.includes('=?') ? decodeWords(text) : text)
}

/** The octets as characters: UTF-8 where they are (RFC 6532), else Latin-1. */
export function readOctets(octets: string): string {
  if (Buffer.byteLength(octets) === octets.length) return octets
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(octets, 'latin1'))
  } catch {
    return octets
  }
}

/** Decodes the encoded words of a text; a word that cannot be decoded stays. */
export function decodeWords(text: string): string {
  return text
    .replaceAll(BETWEEN_WORDS, '$1')
    .replaceAll(WORD, (word, charset: string, encoding: string, content: string) => {
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

function tidy(text: string): string {
  return text.replaceAll(UNSHOWN, ' ').toWellFormed().trim().slice(0, MAX_CHARACTERS).toWellFormed()
}
