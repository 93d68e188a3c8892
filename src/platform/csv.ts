/**
 * Writes CSV (RFC 4180) that is safe to open in a spreadsheet. A cell that starts like a formula gets a leading
 * apostrophe, as OWASP advises against CSV injection. Reading removes exactly one apostrophe; a value that already has
 * apostrophes before a formula gets one more and loses one. An export followed by an import returns the same values.
 */
import { stringify } from 'csv-stringify/sync'

/** Includes the full-width characters that spreadsheets read as operators. */
const FORMULA_START = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const ESCAPED = /^'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

export function escapeFormula(value: string): string {
  return FORMULA_START.test(value) ? `'${value}` : value
}

export function unescapeFormula(cell: string): string {
  return ESCAPED.test(cell) ? cell.slice(1) : cell
}

/** Rows as CSV with CRLF line ends; formulas are escaped in each cell. */
export function writeRows(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => row.map(escapeFormula)),
    { record_delimiter: '\r\n' },
  )
}
