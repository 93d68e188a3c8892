/**
 * The rows of a stored file from any place between two rows on: a batch at a time, each row with the line it begins in and the place behind
 * it. Where reading goes on is what was committed, so the place must be exact: line ends are CRLF, LF or CR, whichever comes.
 *
 * Nothing that is in a file makes this hold more than a chunk and one row of bounded size. Quotes inside of a cell are taken as they are;
 * a quote that is never closed makes a row too long, or the end of the file come in the middle of one: that breaks the import, for nobody
 * can tell where the next row begins.
 */
import { CsvError, Parser, type Info } from 'csv-parse'
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { Import } from './imports.ts'
import { CHUNK_BYTES } from './upload.ts'

export interface FileRow {
  readonly line: number
  readonly cells: readonly string[]
  /** The first byte and the line behind it. */
  readonly next: Place
}

export interface Place {
  readonly position: number
  readonly line: number
}

export type Batch =
  | { readonly kind: 'rows'; readonly rows: readonly FileRow[] }
  | { readonly kind: 'broken'; readonly line: number; readonly reason: string }

/** Characters of a row: the fields of a contact and 64 KB of attributes fit. */
const MAX_ROW = 128 * 1024
const MAX_BATCH = 5000

const READ_CHUNK = prepared('imports-read-chunk', 'SELECT content FROM import_chunks WHERE import_id = $1 AND n = $2')

type Source = Pick<Import, 'id' | 'layout' | 'bytes'>

/** The header is no row. Ends where the file does. */
export async function* readRows(db: Queryable, source: Source, from: Place): AsyncGenerator<Batch> {
  const parser = openParser(source.layout.delimiter, from)
  for (
    let n = Math.floor(from.position / CHUNK_BYTES), skip = from.position % CHUNK_BYTES;
    n * CHUNK_BYTES < source.bytes;
    n++, skip = 0
  ) {
    const {
      rows: [chunk],
    } = await db.query<{ content: Buffer }>(READ_CHUNK, [source.id, n])
    // cancelled, and cleared meanwhile
    if (chunk === undefined) return
    yield* give(await parser.read(chunk.content.subarray(skip)))
  }
  yield* give(await parser.end())
}

interface Parsed {
  readonly rows: FileRow[]
  readonly broken: Extract<Batch, { kind: 'broken' }> | null
}

function* give({ rows, broken }: Parsed): Generator<Batch> {
  for (let at = 0; at < rows.length; at += MAX_BATCH) yield { kind: 'rows', rows: rows.slice(at, at + MAX_BATCH) }
  if (broken !== null) yield broken
}

interface FileParser {
  read(bytes: Buffer): Promise<Parsed>
  end(): Promise<Parsed>
}

function openParser(delimiter: string, from: Place): FileParser {
  let rows: FileRow[] = []
  let isHeaderNext = from.position === 0
  const lines = createLineCounter(from.line)
  const parser = new Parser({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW,
    on_record: (cells: string[], info: Info) => {
      const { line, next } = lines.take(cells, info)
      if (!isHeaderNext) rows.push({ line, cells, next: { position: from.position + info.bytes, line: next } })
      isHeaderNext = false
      return null
    },
  })
  const after = (step: (done: (error?: Error | null) => void) => void): Promise<Parsed> =>
    new Promise((resolve) => {
      step((error) => {
        const given = rows
        rows = []
        resolve({ rows: given, broken: error === undefined || error === null ? null : explain(error, lines.next) })
      })
    })
  parser.on('error', () => undefined) // told by the callback of the write that met it
  return { read: (bytes) => after((done) => parser.write(bytes, done)), end: () => after((done) => parser.end(done)) }
}

const REASONS: Readonly<Record<string, string>> = {
  CSV_MAX_RECORD_SIZE: `the row is longer than ${MAX_ROW} characters; perhaps a quote in it is never closed`,
  CSV_QUOTE_NOT_CLOSED: 'the file ends inside of a quoted cell: its quote is never closed',
}

function explain(error: Error, line: number): Extract<Batch, { kind: 'broken' }> {
  const code = error instanceof CsvError ? error.code : ''
  return { kind: 'broken', line, reason: `line ${line}: ${REASONS[code] ?? error.message}` }
}

interface LineCounter {
  /** The line that the row begins in, and the one behind it. */
  take(cells: readonly string[], info: Info): { readonly line: number; readonly next: number }
  readonly next: number
}

/** The parser counts a CRLF inside of quotes as two lines; these cells are looked at again. */
function createLineCounter(first: number): LineCounter {
  let [next, seen, empty] = [first, 0, 0]
  return {
    get next() {
      return next
    },
    take: (cells, info) => {
      const skipped = info.empty_lines - empty
      const isOneLine = info.lines - seen - skipped === 1
      const line = next + skipped
      next = line + 1 + (isOneLine ? 0 : countBreaks(cells))
      seen = info.lines
      empty = info.empty_lines
      return { line, next }
    },
  }
}

function countBreaks(cells: readonly string[]): number {
  return cells.reduce((count, cell) => count + (cell.match(/\r\n|\n|\r/g)?.length ?? 0), 0)
}
