/**
 * CSV as we write it (RFC 4180) and what a spreadsheet would do with it. A cell that begins like a formula gets an apostrophe in front, as
 * OWASP advises ("CSV injection"), so that opening a list of contacts runs nothing. Reading takes exactly that apostrophe off again: a
 * value that had apostrophes of its own in front of such a beginning gets one more and loses one, so what went out comes back as it was.
 */
import { stringify } from 'csv-stringify/sync'

/** With the full-width forms that a spreadsheet reads like the others. */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const GUARDED = /^'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

export function guardCell(value: string): string {
  return FORMULA.test(value) ? `'${value}` : value
}

export function unguardCell(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell
}

/** Rows as CSV with CRLF, each cell guarded. */
export function writeRows(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => row.map(guardCell)),
    { record_delimiter: '\r\n' },
  )
}
