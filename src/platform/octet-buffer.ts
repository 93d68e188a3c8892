/**
 * Joins chunks into one buffer. Chunks may be small and many: a TLS record or a line each. Kept one by one, each octet
 * could take hundreds of octets of memory.
 */
const NOTHING = Buffer.alloc(0)

export class OctetBuffer {
  /** The only chunk, which is not copied, or a buffer of our own. */
  #buffer: Buffer = NOTHING
  #length = 0

  /** The chunk belongs to this buffer from now on. */
  add(chunk: Buffer): void {
    if (this.#length === 0) {
      this.#buffer = chunk
      this.#length = chunk.length
      return
    }
    const needed = this.#length + chunk.length
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(needed * 2)
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#length)
    this.#length = needed
  }

  get octets(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Octets of memory in use. */
  get capacity(): number {
    return this.#buffer.length
  }

  clear(): void {
    this.#buffer = NOTHING
    this.#length = 0
  }
}
