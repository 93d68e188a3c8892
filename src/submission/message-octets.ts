/**
 * Which octets a complete message may have, and how many. CR and LF outside the pair CRLF, and NUL, are refused:
 * servers disagree on where such a line ends, so one message could be read as two (RFC 5321 2.3.8).
 */
import type { Config } from '#config/load.ts'
import { loadOctets, MAX_SHARED } from '#src/mime/octets.ts'
import { contentError, type SubmissionError } from './submission-error.ts'

const CR = 13
const LF = 10
const CRLF_HINT = 'lines must end in CRLF, convert the message first, for example with unix2dos'

/** The refusal of octets that can be read in two ways, or null. */
export function validateOctets(octets: Buffer): SubmissionError | null {
  if (isStrict(octets)) return null
  if (octets.includes(0)) return contentError('The message contains a NUL: encode binary content in base64')
  for (let at = octets.indexOf(LF); at >= 0; at = octets.indexOf(LF, at + 1))
    if (octets[at - 1] !== CR) return contentError(`The message contains an LF without CR: ${CRLF_HINT}`)
  for (let at = octets.indexOf(CR); at >= 0; at = octets.indexOf(CR, at + 1))
    if (octets[at + 1] !== LF) return contentError(`The message contains a CR without LF: ${CRLF_HINT}`)
  return null
}

/** In slices, none of which ends between CR and LF. */
function isStrict(octets: Buffer): boolean {
  for (let from = 0, to = 0; from < octets.length; from = to) {
    to = Math.min(octets.length, from + MAX_SHARED - 1)
    if (octets[to - 1] === CR) to++
    if (!loadOctets(octets.subarray(from, to)).isStrict) return false
  }
  return true
}

/** base64 turns 3 bytes into 4 and adds line ends; the rest is for the header. */
const ENCODED_FACTOR = 1.4

/** The largest complete message: the limit that the SIZE extension announces. */
export function maxOctets({ maxMessageBytes }: Pick<Config, 'maxMessageBytes'>): number {
  return Math.ceil(maxMessageBytes * ENCODED_FACTOR) + 65_536
}
