/**
 * Joins chunks into one buffer. Chunks may be small and many: a TLS record or a line each. Kept one by one, each octet
 * could take hundreds of octets of memory.
 */
export interface BufferSize {
  /** How many octets will come; null: that is unknown. */
  readonly expected?: number | null
  /** What is allocated at least, and at most, when more than one chunk has arrived. */
  readonly least?: number
  readonly most?: number
}

const NOTHING = Buffer.alloc(0)

export class OctetBuffer {
  readonly #size: BufferSize
  /** The only chunk, which is not copied, or a buffer of our own. */
  #buffer: Buffer = NOTHING
  #length = 0

  constructor(size: BufferSize = {}) {
    this.#size = size
  }

  /** The chunk belongs to this buffer from now on. */
  add(chunk: Buffer): void {
    if (this.#length === 0) {
      this.#buffer = chunk
      this.#length = chunk.length
      return
    }
    const needed = this.#length + chunk.length
    if (needed > this.#buffer.length) {
      const { expected = null, least = 0, most = Infinity } = this.#size
      const isEnough = expected !== null && expected >= needed
      const larger = Buffer.allocUnsafeSlow(isEnough ? expected : Math.min(most, Math.max(least, needed * 2)))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#length)
    this.#length = needed
  }

  get length(): number {
    return this.#length
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
