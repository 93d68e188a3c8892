/**
 * UTF-16 code units, appended in place: many small strings would cost several times as much. It grows as needed. Its
 * memory is used again by the next buffer of the thread, unless it has become large.
 */

const FIRST_UNITS = 16 * 1024
const MAX_KEPT_UNITS = 256 * 1024
const LATIN1_LIMIT = 256
const SPACE = 32
const NBSP = 160
let spare: Uint16Array | null = null

export class TextBuffer {
  length = 0
  /** All units, combined: below 256 the text has one byte for each character. */
  bits = 0
  #units: Uint16Array

  constructor() {
    this.#units = spare ?? new Uint16Array(FIRST_UNITS)
    spare = null
  }

  append(text: string): void {
    const from = this.length
    this.#setLength(from + text.length)
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      this.bits |= unit
      this.#units[from + i] = unit
    }
  }

  /** Appends up to the next white space, and returns where that is. */
  appendWord(text: string, from: number, to: number): number {
    let at = this.length
    this.#setLength(at + to - from)
    const units = this.#units
    let bits = 0
    let i = from
    for (; i < to; i++) {
      const unit = text.charCodeAt(i)
      if (isSpace(unit)) break
      units[at++] = unit
      bits |= unit
    }
    this.bits |= bits
    this.length = at
    return i
  }

  /** Replaces the one unit at `at`; what follows moves. */
  replaceUnit(at: number, text: string): void {
    const end = this.length
    if (text.length !== 1) {
      this.#setLength(end + text.length - 1)
      this.#units.copyWithin(at + text.length, at + 1, end)
    }
    for (let i = 0; i < text.length; i++) this.#units[at + i] = text.charCodeAt(i)
  }

  textFrom(from: number): string {
    const part = this.#units.subarray(from, this.length)
    return this.bits < LATIN1_LIMIT
      ? Buffer.from(part).toString('latin1')
      : Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('utf16le')
  }

  /** It must not be used any more. */
  release(): void {
    if (this.#units.length <= MAX_KEPT_UNITS) spare = this.#units
  }

  #setLength(length: number): void {
    if (length > this.#units.length) {
      const grown = new Uint16Array(Math.max(length, this.#units.length * 2))
      grown.set(this.#units.subarray(0, this.length))
      this.#units = grown
    }
    this.length = length
  }
}

/** Controls are space, too. */
export function isSpace(unit: number): boolean {
  return unit <= SPACE || unit === NBSP
}
