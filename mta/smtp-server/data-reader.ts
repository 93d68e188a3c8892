/**
 * Finds the end of the data of a message (RFC 5321 4.1.1.4) and removes the dots that were stuffed (4.5.2), in chunks
 * of any size. It searches only dots at the start of a line, moves the lines together within the chunk, and copies no
 * chunk.
 *
 * The final dot counts only between two CRLF, or at the very beginning: with any other end, text of a message could be
 * read as commands of its client (SMTP smuggling). A dot at the start of a line is removed only before another dot,
 * also after a bare LF. A test compares the result with that of smtp-server for random data in random chunks.
 */
export interface DataSink {
  /** The chunk belongs to the callee. */
  write(chunk: Buffer): void
}

/** What ended the last chunk. The dot of the last three, and the CR after it, are withheld: they may be the end. */
type ChunkEnd = 'in-line' | 'after-cr' | 'at-line' | 'at-bare-line' | 'dot' | 'bare-dot' | 'dot-cr'

const [CR, LF, DOT] = [13, 10, 46]
const LINE_DOT = Buffer.from('\n.')

export class DataReader {
  #last: ChunkEnd = 'at-line'

  /** Writes the data of a chunk to `sink`. Returns the number of octets up to the end of the data; -1: more follows. */
  read(chunk: Buffer, sink: DataSink): number {
    if (chunk.length === 0) return -1
    const ended = this.#resolveWithheld(chunk, sink)
    if (ended !== null) return ended
    const lines = new UnstuffedLines(chunk)
    for (let dot = this.#firstDot(chunk); dot >= 0; dot = nextDot(chunk, dot)) {
      const isAtLine = this.#isAfterCrlf(chunk, dot)
      const [next, third] = [chunk[dot + 1], chunk[dot + 2]]
      if (next === DOT) lines.removeDot(dot)
      else if (next === undefined) return this.#withhold(isAtLine ? 'dot' : 'bare-dot', lines.upTo(dot), sink)
      else if (next === CR && isAtLine) {
        if (third === undefined) return this.#withhold('dot-cr', lines.upTo(dot), sink)
        if (third !== LF) continue
        write(lines.upTo(dot), sink)
        return dot + 3
      }
    }
    this.#last = this.#endOf(chunk)
    write(lines.upTo(chunk.length), sink)
    return -1
  }

  /** Decides about the octets that the last chunk withheld. Returns what `read` returns, or null: the chunk is next. */
  #resolveWithheld(chunk: Buffer, sink: DataSink): number | null {
    const last = this.#last
    if (last === 'dot-cr') {
      if (chunk[0] === LF) return 1
      sink.write(Buffer.from('.\r'))
      this.#last = 'after-cr'
    } else if (last === 'dot' || last === 'bare-dot') {
      if (last === 'dot' && chunk[0] === CR) {
        if (chunk[1] === LF) return 2
        if (chunk.length === 1) {
          this.#last = 'dot-cr'
          return -1
        }
      }
      if (chunk[0] !== DOT) sink.write(Buffer.from('.'))
      this.#last = 'in-line'
    }
    return null
  }

  #withhold(end: ChunkEnd, data: Buffer, sink: DataSink): -1 {
    this.#last = end
    write(data, sink)
    return -1
  }

  #firstDot(chunk: Buffer): number {
    const isAtLine = this.#last === 'at-line' || this.#last === 'at-bare-line'
    return isAtLine && chunk[0] === DOT ? 0 : nextDot(chunk, 0)
  }

  #isAfterCrlf(chunk: Buffer, dot: number): boolean {
    if (dot > 1) return chunk[dot - 2] === CR
    return this.#last === (dot === 1 ? 'after-cr' : 'at-line')
  }

  #endOf(chunk: Buffer): ChunkEnd {
    const last = chunk.at(-1)
    if (last === CR) return 'after-cr'
    if (last !== LF) return 'in-line'
    const isCrlf = chunk.length > 1 ? chunk.at(-2) === CR : this.#last === 'after-cr'
    return isCrlf ? 'at-line' : 'at-bare-line'
  }
}

/** The next dot that begins a line; -1: there is none. */
function nextDot(chunk: Buffer, from: number): number {
  const at = chunk.indexOf(LINE_DOT, from)
  return at < 0 ? -1 : at + 1
}

function write(data: Buffer, sink: DataSink): void {
  if (data.length > 0) sink.write(data)
}

/** The lines of a chunk without stuffed dots, moved together at its start. */
class UnstuffedLines {
  readonly #chunk: Buffer
  /** Where the lines begin that were not moved yet. */
  #from = 0
  #length = 0

  constructor(chunk: Buffer) {
    this.#chunk = chunk
  }

  removeDot(at: number): void {
    this.#moveUpTo(at)
    this.#from = at + 1
  }

  upTo(end: number): Buffer {
    this.#moveUpTo(end)
    return this.#chunk.subarray(0, this.#length)
  }

  #moveUpTo(end: number): void {
    if (this.#length < this.#from) this.#chunk.copyWithin(this.#length, this.#from, end)
    this.#length += end - this.#from
    this.#from = end
  }
}
