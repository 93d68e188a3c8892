/**
 * Cuts what PostgreSQL sends into messages, without a buffer for each read. Node allocates 64 KB for a read of a
 * socket, and pg copies what belongs to a message that is not complete into buffers that it doubles: a file of 200 KB
 * took 700 KB. Here all connections of a thread read into one buffer, whose messages are handled before the next read;
 * a message that is not complete gets a buffer of its size, into which the socket writes the rest.
 *
 * The format is that of PostgreSQL's manual, "Message Formats": a code, a length that includes itself, the content.
 */
import type { OnReadOpts } from 'node:net'

/**
 * `bytes` holds a whole message: its code at `from`, then 4 octets of length. With `isOwn` nobody else writes to it;
 * else what is needed later must be copied.
 */
export type MessageHandler = (bytes: Buffer, from: number, isOwn: boolean) => void

const CODE = 1
const HEADER = CODE + 4
/** More than a socket of the system holds. */
const SHARED_BYTES = 256 * 1024
/** Of a larger message, so much is allocated before it arrives: what is no PostgreSQL may say any length. */
const FIRST_BYTES = 1024 * 1024

let shared: Buffer | null = null

export class ProtocolReader {
  readonly #handle: MessageHandler
  /** A message that is not complete, or the header of one. */
  #partial: Buffer | null = null
  /** Its octets so far, and when it is complete. */
  #filled = 0
  #length = 0

  constructor(handle: MessageHandler) {
    this.#handle = handle
  }

  /** For a socket that reads for this reader only. */
  readonly socketOptions: OnReadOpts = {
    buffer: () => this.#target(),
    callback: (count, bytes) => {
      if (this.#partial === null) this.push((bytes as Buffer).subarray(0, count))
      else this.#advance(count)
      return true
    },
  }

  /** Handles the messages that `bytes` completes, and copies what is left. */
  push(bytes: Buffer): void {
    let from = 0
    while (from < bytes.length) {
      if (this.#partial !== null) {
        const count = bytes.copy(this.#partial, this.#filled, from)
        from += count
        this.#advance(count)
        continue
      }
      const end = bytes.length - from < HEADER ? Infinity : from + CODE + bytes.readUInt32BE(from + CODE)
      if (end > bytes.length) this.#begin(Number.isFinite(end) ? end - from : HEADER)
      else {
        this.#handle(bytes, from, false)
        from = end
      }
    }
  }

  #target(): Buffer {
    return this.#partial?.subarray(this.#filled) ?? (shared ??= Buffer.allocUnsafeSlow(SHARED_BYTES))
  }

  #begin(length: number): void {
    this.#length = length
    this.#filled = 0
    this.#partial = Buffer.allocUnsafeSlow(Math.min(length, FIRST_BYTES))
  }

  /** After `count` octets were written to what is not complete. */
  #advance(count: number): void {
    this.#filled += count
    const partial = this.#partial
    if (partial === null || this.#filled < partial.length) return
    // the header says how long the message is
    if (this.#filled === HEADER) this.#length = CODE + partial.readUInt32BE(CODE)
    if (this.#filled < this.#length) {
      this.#partial = Buffer.allocUnsafeSlow(Math.min(this.#length, Math.max(2 * this.#filled, FIRST_BYTES)))
      partial.copy(this.#partial)
      return
    }
    this.#partial = null
    this.#handle(partial, 0, true)
  }
}
