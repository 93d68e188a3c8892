/**
 * Collects the octets of one message from DATA to the final dot. An oversized message is read to its end and discarded,
 * whether it declared its size or not; a client that never ends is disconnected. All messages in progress share a
 * memory limit; one more gets 452.
 */
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { OctetBuffer } from '#src/platform/octet-buffer.ts'

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

/** A message is in memory about three times while it is accepted. */
const MAX_MEMORY_BYTES = 96 * 1024 * 1024
/** An oversized message is read up to this multiple of the limit, so that the client receives the reason. */
const DRAIN_FACTOR = 3

export class MessageOctets {
  readonly #limits: ReadLimits
  readonly #buffer = new OctetBuffer()
  #size = 0
  #isMemoryFull = false

  constructor(limits: ReadLimits) {
    this.#limits = limits
  }

  add(chunk: Buffer): void {
    const { maxBytes, memory, disconnect } = this.#limits
    this.#size += chunk.length
    this.#isMemoryFull ||= this.#size <= maxBytes && memory.bytes + chunk.length > MAX_MEMORY_BYTES
    if (this.#size > maxBytes * DRAIN_FACTOR) return disconnect()
    if (this.#size > maxBytes || this.#isMemoryFull) return this.release()
    const before = this.#buffer.capacity
    this.#buffer.add(chunk)
    memory.bytes += this.#buffer.capacity - before
  }

  /** Returns the octets. `release` is to be called once they are no longer needed. @throws ReplyError. */
  complete(): Buffer {
    const { maxBytes } = this.#limits
    if (this.#size > maxBytes)
      throw new ReplyError(552, `5.3.4 The message has more than ${maxBytes} octets: send links instead of files`)
    if (this.#isMemoryFull) throw new ReplyError(452, '4.3.1 Too many messages in progress, try again later')
    return this.#buffer.octets
  }

  release(): void {
    this.#limits.memory.bytes -= this.#buffer.capacity
    this.#buffer.clear()
  }
}
