/**
 * Reads the rows of a stored file from any position between two rows: in batches, each row with its line number and the
 * position after it. Reading resumes from a committed position, so positions are exact for CRLF, LF and CR line ends,
 * even mixed.
 *
 * Memory is limited to one chunk and one row of bounded size, whatever the file holds. Quotes inside an unquoted cell
 * are literal. A quote that is never closed makes a row too long or the file end inside a cell. That fails the import,
 * because the start of the next row is unknown.
 */
import { CsvError, Parser, type Info } from 'csv-parse'
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { Import } from './imports.ts'
import { CHUNK_BYTES } from './upload.ts'

export interface FileRow {
  readonly line: number
  readonly cells: readonly string[]
  /** Position and line after the row. */
  readonly next: FilePosition
}

export interface FilePosition {
  readonly position: number
  readonly line: number
}

export type FileBatch =
  | { readonly kind: 'rows'; readonly rows: readonly FileRow[] }
  | { readonly kind: 'broken'; readonly line: number; readonly reason: string }

/** Longest row, in characters: the fields of a contact and 64 KB of attributes fit. */
const MAX_ROW = 128 * 1024
const MAX_BATCH = 5000
const MIN_BATCH = 500
/** Batches of a file, so that its progress moves in steps of 5 %; more if they would be larger than MAX_BATCH. */
const STEPS = 20

const READ_CHUNK = prepared('imports-read-chunk', 'SELECT content FROM import_chunks WHERE import_id = $1 AND n = $2')

type ImportFile = Pick<Import, 'id' | 'layout' | 'bytes'>

/** Yields the rows of the file without the header line. */
export async function* readRows(db: Queryable, file: ImportFile, start: FilePosition): AsyncGenerator<FileBatch> {
  const parser = createFileParser(file.layout.delimiter, start)
  for (
    let n = Math.floor(start.position / CHUNK_BYTES), skip = start.position % CHUNK_BYTES;
    n * CHUNK_BYTES < file.bytes;
    n++, skip = 0
  ) {
    const {
      rows: [chunk],
    } = await db.query<{ content: Buffer }>(READ_CHUNK, [file.id, n])
    // the import was cancelled and purged meanwhile
    if (chunk === undefined) return
    const part = chunk.content.subarray(skip)
    yield* yieldBatches(await parser.read(part), part.length / file.bytes)
  }
  yield* yieldBatches(await parser.end(), 0)
}

interface ParseResult {
  readonly rows: FileRow[]
  readonly broken: Extract<FileBatch, { kind: 'broken' }> | null
}

/** @param share of the file that the rows are */
function* yieldBatches({ rows, broken }: ParseResult, share: number): Generator<FileBatch> {
  const size = Math.min(MAX_BATCH, Math.max(MIN_BATCH, Math.ceil(rows.length / (share * STEPS))))
  for (let at = 0; at < rows.length; at += size) yield { kind: 'rows', rows: rows.slice(at, at + size) }
  if (broken !== null) yield broken
}

interface FileParser {
  read(bytes: Buffer): Promise<ParseResult>
  end(): Promise<ParseResult>
}

function createFileParser(delimiter: string, start: FilePosition): FileParser {
  let rows: FileRow[] = []
  let isHeaderNext = start.position === 0
  const lines = createLineCounter(start.line)
  const parser = new Parser({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW,
    on_record: (cells: string[], info: Info) => {
      const { line, next } = lines.count(cells, info)
      if (!isHeaderNext) rows.push({ line, cells, next: { position: start.position + info.bytes, line: next } })
      isHeaderNext = false
      return null
    },
  })
  const after = (step: (done: (error?: Error | null) => void) => void): Promise<ParseResult> =>
    new Promise((resolve) => {
      step((error) => {
        const parsed = rows
        rows = []
        resolve({
          rows: parsed,
          broken: error === undefined || error === null ? null : describeError(error, lines.next),
        })
      })
    })
  parser.on('error', () => undefined) // the callback of the write reports it
  return { read: (bytes) => after((done) => parser.write(bytes, done)), end: () => after((done) => parser.end(done)) }
}

const REASONS: Readonly<Record<string, string>> = {
  CSV_MAX_RECORD_SIZE: `the row is longer than ${MAX_ROW} characters; check for a quote that is never closed`,
  CSV_QUOTE_NOT_CLOSED: 'the file ends inside a quoted cell: its quote is never closed',
}

function describeError(error: Error, line: number): Extract<FileBatch, { kind: 'broken' }> {
  const code = error instanceof CsvError ? error.code : ''
  return { kind: 'broken', line, reason: `line ${line}: ${REASONS[code] ?? error.message}` }
}

interface LineCounter {
  /** The line that the row begins on, and the line after it. */
  count(cells: readonly string[], info: Info): { readonly line: number; readonly next: number }
  readonly next: number
}

/** The parser counts a CRLF inside quotes as two lines, so line breaks in such cells are counted here. */
function createLineCounter(first: number): LineCounter {
  let [next, seen, empty] = [first, 0, 0]
  return {
    get next() {
      return next
    },
    count: (cells, info) => {
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
