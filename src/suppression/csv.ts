/**
 * Suppression lists as CSV. Reading: any CSV with an address column (named email or address, else the first); columns
 * for reason and kind are used if present. Writing: all fields of a suppression, in a form that can be read back.
 * Reading holds one row of limited size and never throws for the content of a file: an invalid address is reported with
 * its line, and a file that cannot be parsed further is reported as broken from there.
 */
import type { Readable } from 'node:stream'
import { Parser, type Info } from 'csv-parse'
import { unescapeFormula, writeRows } from '#src/platform/csv.ts'
import { CAUSE_KINDS, type CauseKind } from './cause.ts'
import type { Suppression } from './list.ts'

export interface ListedAddress {
  readonly address: string
  readonly reason: string | null
  readonly kind: CauseKind
}

export type ListRow =
  | { readonly kind: 'entry'; readonly line: number; readonly entry: ListedAddress }
  | { readonly kind: 'broken'; readonly reason: string }

const MAX_ROW = 16 * 1024
const LF = 0x0a
const CR = 0x0d
const LINE_END = Buffer.from('\n')
const ADDRESS_NAMES = ['email', 'address', 'email_address', 'emailaddress', 'e-mail', 'recipient']
const REASON_NAMES = ['reason', 'cause', 'description']
const KIND_NAMES = ['kind', 'type']

interface Columns {
  readonly address: number
  readonly reason: number
  readonly kind: number
}

/** Ends with the file, or after a broken row. */
export async function* readListCsv(source: Readable): AsyncGenerator<ListRow> {
  const rows: ListRow[] = []
  const parser = openParser(rows)
  const splitLines = createLineSplitter(MAX_ROW)
  let isWhole = true
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const { lines, isTooLong } = splitLines(chunk)
    isWhole = (await step((done) => parser.write(lines, done))) && !isTooLong
    yield* rows.splice(0)
    if (!isWhole) break
  }
  if (isWhole) isWhole = await step((done) => parser.write(splitLines(LINE_END).lines, done))
  // the parser holds the last row until it knows what follows
  isWhole = (await step((done) => parser.end(done))) && isWhole
  yield* rows.splice(0)
  if (!isWhole) yield BROKEN
}

const BROKEN: ListRow = {
  kind: 'broken',
  reason: 'cannot be parsed further: a row is too long, or a quote is never closed',
}

interface SplitChunk {
  /** The lines that are complete with this chunk, of any number. */
  readonly lines: Buffer
  /** True if the next line is longer than the limit. */
  readonly isTooLong: boolean
}

/**
 * Splits a file after lines, and holds the start of a line until its end arrives: at most `max` bytes, since a line
 * that is longer ends the file. The parser does not count white space that it trims, and needs five times as long for
 * it as for rows.
 */
function createLineSplitter(max: number): (chunk: Buffer) => SplitChunk {
  let held: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const text = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    let start = 0
    for (let at = held.length; at < text.length; at++) {
      if (text[at] === LF || text[at] === CR) start = at + 1
      else if (at - start >= max) return { lines: text.subarray(0, start), isTooLong: true }
    }
    held = text.subarray(start)
    return { lines: text.subarray(0, start), isTooLong: false }
  }
}

/** Collects rows outside the parser, which would drop the rows before a broken one. */
function openParser(rows: ListRow[]): Parser {
  let columns: Columns | null = null
  const parser = new Parser({
    bom: true,
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: MAX_ROW,
    delimiter: [',', ';', '\t'],
    on_record: (record: string[], { lines }: Info) => {
      const isFirst = columns === null
      columns ??= columnsOf(record)
      if (!isFirst || !isHeader(record)) rows.push({ kind: 'entry', line: lines, entry: entryOf(record, columns) })
      return null
    },
  })
  parser.on('error', () => undefined) // the callback of the step reports it
  return parser
}

/** False if the parser cannot continue. */
function step(run: (done: (error?: Error | null) => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    run((error) => resolve(error === undefined || error === null))
  })
}

function namesOf(record: readonly string[]): string[] {
  return record.map((cell) => cell.toLowerCase().replaceAll(' ', '_'))
}

function isHeader(record: readonly string[]): boolean {
  return namesOf(record).some((name) => ADDRESS_NAMES.includes(name))
}

function columnsOf(first: readonly string[]): Columns {
  const names = namesOf(first)
  const indexOf = (known: readonly string[]): number => names.findIndex((name) => known.includes(name))
  return { address: Math.max(0, indexOf(ADDRESS_NAMES)), reason: indexOf(REASON_NAMES), kind: indexOf(KIND_NAMES) }
}

function entryOf(record: readonly string[], columns: Columns): ListedAddress {
  const cell = (at: number): string => unescapeFormula(record[at] ?? '').trim()
  return { address: cell(columns.address), reason: cell(columns.reason) || null, kind: kindOf(cell(columns.kind)) }
}

/** An unknown kind still suppresses, as `import`. */
export function kindOf(text: string): CauseKind {
  const name = text.toLowerCase().replaceAll(/[ -]/g, '_')
  return CAUSE_KINDS.find((kind) => kind === name) ?? 'import'
}

export const CSV_HEADER = [
  'email',
  'kind',
  'reason',
  'reply_code',
  'reply_status',
  'reply_text',
  'rule',
  'message_id',
  'created_at',
] as const

/** Rows of a file that begins with CSV_HEADER. */
export function writeListCsv(suppressions: readonly Suppression[]): string {
  return writeRows(
    suppressions.map(({ address, kind, cause, reply, rule, messageId, createdAt }) => [
      address,
      kind,
      cause,
      String(reply?.code ?? ''),
      reply?.status ?? '',
      reply?.text ?? '',
      rule ?? '',
      messageId ?? '',
      createdAt.toISOString(),
    ]),
  )
}
