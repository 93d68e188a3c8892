/**
 * Reads the data of a message in place of smtp-server, which examines each octet in JavaScript and waits for the event
 * loop at each stuffed dot (RFC 5321 4.5.2). Here dots at the start of a line are searched, and those that were stuffed
 * are removed in place. A test compares the result with that of smtp-server for random data in random chunks.
 *
 * It uses the state of the stream of smtp-server, whose version is pinned. The final dot counts only between two CRLF.
 */
/* oxlint-disable no-underscore-dangle -- the names of smtp-server */
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'

type Done = Parameters<SMTPStream['_feedDataStream']>[1]

const [CR, LF, DOT] = [13, 10, 46]
const LINE_DOT = Buffer.from('\n.')
const EMPTY_DATA = Buffer.from('.\r\n')
/** What may be the beginning of the final dot with the CRLF before it is withheld. */
const WITHHELD = 4
const NOTHING = Buffer.alloc(0)

/** From now on `stream` reads data this way. */
export function searchDots(stream: SMTPStream): void {
  stream._feedDataStream = readerOf(stream)
}

/** A function that is assigned where it is made would stay in memory for long (docs/decisions/125). */
function readerOf(stream: SMTPStream): SMTPStream['_feedDataStream'] {
  return (chunk, done) => readData(stream, chunk, done)
}

function readData(stream: SMTPStream, given: Buffer, done: Done): void {
  const all = stream._lastBytes === false ? given : Buffer.concat([stream._lastBytes, given])
  stream._lastBytes = false
  if (stream._atDataStart && all.subarray(0, EMPTY_DATA.length).equals(EMPTY_DATA))
    return stream._endDataMode(false, behind(all, EMPTY_DATA.length), done)
  const chunk = stream._atDataStart && all[0] === DOT && all[1] === DOT ? all.subarray(1) : all
  if (chunk !== all) stream._atDataStart = false

  const lines = new UnstuffedLines(chunk)
  for (let dot = nextDot(chunk, 1); dot > 0; dot = nextDot(chunk, dot)) {
    if (isFinal(chunk, dot)) {
      const data = lines.upTo(dot)
      stream._countDataBytes(data.length)
      return stream._endDataMode(data, behind(chunk, dot + EMPTY_DATA.length), done)
    }
    if (chunk[dot + 1] === DOT) lines.removeDot(dot)
  }
  const end = Math.max(lines.from, chunk.length - WITHHELD)
  stream._lastBytes = chunk.subarray(end)
  writeData(stream, lines.upTo(end), done)
}

/** What follows the data. If that is nothing, smtp-server does not hold `chunk` in memory. */
function behind(chunk: Buffer, end: number): Buffer {
  return end === chunk.length ? NOTHING : chunk.subarray(end)
}

/** The next dot that begins a line and has two octets behind it; 0: there is none. */
function nextDot(chunk: Buffer, from: number): number {
  const dot = chunk.indexOf(LINE_DOT, from) + 1
  return dot < chunk.length - 2 ? dot : 0
}

function isFinal(chunk: Buffer, dot: number): boolean {
  return chunk[dot - 2] === CR && chunk[dot + 1] === CR && chunk[dot + 2] === LF
}

/** The lines of a chunk without stuffed dots, moved together at its start. */
class UnstuffedLines {
  /** Where the lines begin that were not moved yet. */
  from = 0
  readonly #chunk: Buffer
  #length = 0

  constructor(chunk: Buffer) {
    this.#chunk = chunk
  }

  removeDot(at: number): void {
    this.#moveUpTo(at)
    this.from = at + 1
  }

  upTo(end: number): Buffer {
    this.#moveUpTo(end)
    return this.#chunk.subarray(0, this.#length)
  }

  #moveUpTo(end: number): void {
    if (this.#length < this.from) this.#chunk.copyWithin(this.#length, this.from, end)
    this.#length += end - this.from
    this.from = end
  }
}

function writeData(stream: SMTPStream, data: Buffer, done: Done): void {
  const target = stream._dataStream
  stream._countDataBytes(data.length)
  if (target === null || data.length === 0 || !target.writable || target.write(data) || target.destroyed) return done()
  const onDrain = (): void => {
    target.off('drain', onDrain)
    target.off('close', onDrain)
    done()
  }
  target.once('drain', onDrain)
  target.once('close', onDrain)
}
