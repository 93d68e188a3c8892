/**
 * Reads the data of one mail at the inbound port: all of it, or the beginning, which holds a report. What all
 * connections have in memory is bounded: over the limit a mail is read to its end, refused with 452, and its sender
 * retries.
 */
import type { SMTPServerDataStream } from 'smtp-server'
import { ReplyError } from '#mta/smtp-server/reply.ts'

export interface ReadMessage {
  /** The whole mail, or its beginning. */
  readonly raw: Buffer
  /** Octets received. */
  readonly size: number
}

export interface MessageReader {
  /**
   * Reads at most so many octets of the mail. They count as in memory until `work` is done with them.
   * @throws ReplyError
   */
  read<T>(stream: SMTPServerDataStream, most: number, work: (message: ReadMessage) => Promise<T>): Promise<T>
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
    async read(stream, most, work) {
      const limit = Math.min(maxOctets, most)
      const chunks: Buffer[] = []
      let size = 0
      let held = 0
      let isFull = false
      try {
        for await (const chunk of stream as AsyncIterable<Buffer>) {
          const length = Math.max(0, Math.min(chunk.length, limit - size))
          size += chunk.length
          isFull ||= buffered + length > maxBuffered
          if (length === 0 || isFull) continue
          held += length
          buffered += length
          // a subarray would keep the whole chunk in memory
          chunks.push(length === chunk.length ? chunk : Buffer.from(chunk.subarray(0, length)))
        }
        if (stream.sizeExceeded || size > maxOctets) throw TOO_BIG
        if (isFull) throw OUT_OF_MEMORY
        return await work({ raw: Buffer.concat(chunks), size })
      } finally {
        buffered -= held
      }
    },
  }
}
