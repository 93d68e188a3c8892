/**
 * Reads the octets of one message from DATA to the final dot. An oversized message is read to its end and discarded,
 * whether it declared its size or not; a client that never ends is disconnected. All messages in progress share a
 * memory limit; one more gets 452.
 */
import type { SMTPServerDataStream } from 'smtp-server'
import { ReplyError } from '#mta/smtp-server/reply.ts'

/** Memory of the messages that this process is receiving. */
export interface MessageMemory {
  bytes: number
}

export interface ReadLimits {
  readonly maxBytes: number
  readonly memory: MessageMemory
  /** Closes the connection. */
  readonly disconnect: () => void
}

export interface MessageOctets {
  readonly octets: Buffer
  /** To be called once, when the octets are no longer needed. */
  readonly release: () => void
}

/** A message is in memory about three times while it is accepted. */
const MAX_MEMORY_BYTES = 96 * 1024 * 1024
/** An oversized message is read up to this multiple of the limit, so that the client receives the reason. */
const DRAIN_FACTOR = 3

/** The client no longer receives it. */
const LOST = new ReplyError(451, '4.4.2 The connection was lost')

/** @throws ReplyError. */
export async function readMessageOctets(
  stream: SMTPServerDataStream,
  { maxBytes, memory, disconnect }: ReadLimits,
): Promise<MessageOctets> {
  const buffer = new OctetBuffer(memory)
  let size = 0
  let isMemoryFull = false
  const onChunk = (chunk: Buffer): void => {
    size += chunk.length
    isMemoryFull ||= size <= maxBytes && memory.bytes + chunk.length > MAX_MEMORY_BYTES
    if (size > maxBytes * DRAIN_FACTOR) disconnect()
    if (size > maxBytes || isMemoryFull) buffer.release()
    else buffer.add(chunk)
  }
  await new Promise<void>((resolve, reject) => {
    const onLost = (): void => {
      buffer.release()
      reject(LOST)
    }
    stream
      .on('data', onChunk)
      .once('error', onLost)
      .once('close', onLost)
      .once('end', () => {
        stream.off('close', onLost)
        resolve()
      })
  })
  if (size > maxBytes)
    throw new ReplyError(552, `5.3.4 The message has more than ${maxBytes} octets: send links instead of files`)
  if (isMemoryFull) throw new ReplyError(452, '4.3.1 Too many messages in progress, try again later')
  return { octets: buffer.octets, release: () => buffer.release() }
}

/** Joins the chunks. They may be small and many: a message of dots arrives line by line. */
class OctetBuffer {
  readonly #held: MessageMemory
  #buffer = Buffer.alloc(0)
  #size = 0

  constructor(memory: MessageMemory) {
    this.#held = memory
  }

  add(chunk: Buffer): void {
    const needed = this.#size + chunk.length
    if (needed > this.#buffer.length) this.#grow(this.#size === 0 ? needed + SPARE : needed * 2)
    chunk.copy(this.#buffer, this.#size)
    this.#size = needed
  }

  #grow(capacity: number): void {
    const larger = Buffer.allocUnsafe(capacity)
    this.#buffer.copy(larger, 0, 0, this.#size)
    this.#held.bytes += capacity - this.#buffer.length
    this.#buffer = larger
  }

  get octets(): Buffer {
    return this.#buffer.subarray(0, this.#size)
  }

  release(): void {
    this.#held.bytes -= this.#buffer.length
    this.#buffer = Buffer.alloc(0)
    this.#size = 0
  }
}

/** smtp-server withholds the last octets until it knows that they are not the end of the data. */
const SPARE = 16
