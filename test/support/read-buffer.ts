/**
 * A buffer for received bytes that are not yet processed. It grows by doubling and remembers how far it was searched,
 * so that a message of many megabytes in small chunks takes linear time.
 */
export class ReadBuffer {
  #bytes = Buffer.alloc(65_536)
  #length = 0
  #searched = 0
  #mark: Buffer | null = null

  /** A view of what is there; valid until the next `push` or `take`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  push(chunk: Buffer): void {
    if (this.#length + chunk.length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#length + chunk.length))
      this.bytes.copy(larger)
      this.#bytes = larger
    }
    chunk.copy(this.#bytes, this.#length)
    this.#length += chunk.length
  }

  /** Where this mark begins, -1 if it is not there. */
  indexOf(mark: Buffer): number {
    if (mark !== this.#mark) this.#searched = 0
    this.#mark = mark
    const found = this.bytes.indexOf(mark, this.#searched)
    this.#searched = found < 0 ? Math.max(0, this.#length - mark.length) : found
    return found
  }

  /** Takes so many bytes from the front. */
  consume(count: number): Buffer {
    const consumed = Buffer.from(this.#bytes.subarray(0, count))
    this.#bytes.copyWithin(0, count, this.#length)
    this.#length -= count
    this.#searched = 0
    return consumed
  }

  clear(): void {
    this.#length = 0
    this.#searched = 0
  }
}
