/**
 * The octets of one mail, from the client's DATA to the last dot. What is too large is read to its end and dropped, whether its size was
 * declared or not; who goes on for ever is cut off. All mails under way together may hold only so much memory: one more is told to come
 * again. CR and LF anywhere but together, and NUL, are refused: servers do not agree where such a line ends, and one mail could be read
 * as two (RFC 5321 2.3.8).
 */
import type { SMTPServerDataStream } from 'smtp-server'
import { badContent, Reply } from './reply.ts'

/** Octets of mails under way, in this process. */
export interface Held {
  bytes: number
}

export interface Bounds {
  readonly maxBytes: number
  readonly held: Held
  /** Ends the connection. */
  readonly cutOff: () => void
}

/** A mail is in memory about three times while it is accepted. */
const MOST_HELD = 96 * 1024 * 1024
/** So much more than allowed is still read, to be able to say why it is refused. */
const DRAINED_FACTOR = 3
const CR = 13
const LF = 10

/** Nobody hears it. */
const LOST = new Reply(451, '4.4.2 The connection was lost')

/** @throws a Reply. The octets stay counted as held until the caller gives them back. */
export async function readOctets(stream: SMTPServerDataStream, { maxBytes, held, cutOff }: Bounds): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  let isCrowded = false
  const keep = (chunk: Buffer): void => {
    size += chunk.length
    isCrowded ||= size <= maxBytes && held.bytes + chunk.length > MOST_HELD
    if (size > maxBytes * DRAINED_FACTOR) cutOff()
    if (size > maxBytes || isCrowded) return giveBack(chunks, held)
    held.bytes += chunk.length
    chunks.push(chunk)
  }
  await new Promise<void>((resolve, reject) => {
    const lose = (): void => reject(LOST)
    stream.on('data', keep).once('end', resolve).once('error', lose).once('close', lose)
  }).catch((error: unknown) => {
    giveBack(chunks, held)
    throw error
  })
  if (size > maxBytes) throw new Reply(552, `5.3.4 The message has more than ${maxBytes} octets`)
  if (isCrowded) throw new Reply(452, '4.3.1 Too much mail is under way, come again')
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

function giveBack(chunks: Buffer[], held: Held): void {
  for (const { length } of chunks.splice(0)) held.bytes -= length
}

/** The refusal of what could be read in two ways, or null. */
export function judgeOctets(octets: Buffer): Reply | null {
  if (octets.includes(0)) return badContent('The message has a NUL')
  for (let at = octets.indexOf(LF); at >= 0; at = octets.indexOf(LF, at + 1))
    if (octets[at - 1] !== CR) return badContent('The message has an LF without CR: lines end in CRLF')
  for (let at = octets.indexOf(CR); at >= 0; at = octets.indexOf(CR, at + 1))
    if (octets[at + 1] !== LF) return badContent('The message has a CR without LF: lines end in CRLF')
  return null
}
