/**
 * Collects the data of one mail at the inbound port: all of it, or the beginning, which holds a report. What all
 * connections have in memory is bounded: over the limit a mail is read to its end, refused with 452, and its sender
 * retries.
 */
import type { DataSink } from '#mta/smtp-server/data-reader.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { OctetBuffer } from '#src/platform/octet-buffer.ts'

export interface ReadMessage {
  /** The whole mail, or its beginning. */
  readonly raw: Buffer
  /** Octets received. */
  readonly size: number
}

export interface MessageCollector extends DataSink {
  /** Returns the mail, whose octets count as in memory until `release`. @throws ReplyError. */
  complete(): ReadMessage
  release(): void
}

export interface MessageReader {
  /** Stores at most so many octets of the next mail. */
  start(most: number): MessageCollector
}

/** What is stored of a report. */
export const REPORT_OCTETS = 128 * 1024
const MAX_BUFFERED_OCTETS = 256 * 1024 * 1024

const TOO_BIG = new ReplyError(552, '5.3.4 Message too big')
const OUT_OF_MEMORY = new ReplyError(452, '4.3.1 Too many large messages at the same time, try again later')

/** `maxOctets`: of one mail. */
export function createMessageReader(maxOctets: number, maxBuffered = MAX_BUFFERED_OCTETS): MessageReader {
  let buffered = 0
  return {
    start: (most) => {
      const limit = Math.min(maxOctets, most)
      const buffer = new OctetBuffer()
      let size = 0
      let isFull = false
      return {
        write: (chunk) => {
          const room = limit - size
          size += chunk.length
          isFull ||= room > 0 && buffered + Math.min(chunk.length, room) > maxBuffered
          if (room <= 0 || isFull) return
          const before = buffer.capacity
          // a part of the only chunk would keep all of it in memory
          buffer.add(chunk.length <= room ? chunk : Buffer.from(chunk.subarray(0, room)))
          buffered += buffer.capacity - before
        },
        complete: () => {
          if (size > maxOctets) throw TOO_BIG
          if (isFull) throw OUT_OF_MEMORY
          return { raw: buffer.octets, size }
        },
        release: () => {
          buffered -= buffer.capacity
          buffer.clear()
        },
      }
    },
  }
}
