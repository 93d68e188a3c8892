/**
 * The beginning of a CSV file, for the preview of an import: encoding, separator, header and the first rows, with
 * quotation marks as in RFC 4180. It chooses the separator as the import does. A file that is not UTF-8 is converted
 * before it is sent, because the import reads UTF-8 only. Never throws; reads no more than it is given.
 */

export interface CsvHead {
  readonly separator: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export type FileEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'

const SEPARATORS = [',', ';', '\t', '|'] as const
const EMAIL_NAMES = new Set(['email', 'emailaddress', 'mail', 'mailaddress'])

/** By the byte order mark; else UTF-8 if the bytes are valid, else what spreadsheets in Europe and America write. */
export function detectEncoding(start: Uint8Array): FileEncoding {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be'
  try {
    // with `stream`, a character that the slice cuts is no error
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true })
    return 'utf-8'
  } catch {
    return 'windows-1252'
  }
}

/** Reads up to `most` records; the last one of a text that was cut is left out. */
export function parseRecords(text: string, separator: string, most: number, isCut = false): string[][] {
  const records: string[][] = []
  let record: string[] = []
  let cell = ''
  let isQuoted = false
  const endRecord = (): void => {
    record.push(cell)
    cell = ''
    if (record.length > 1 || record[0] !== '') records.push(record) // empty lines are skipped
    record = []
  }
  for (let at = 0; at < text.length && records.length < most; at++) {
    const char = text[at] ?? ''
    if (isQuoted) {
      if (char !== '"') cell += char
      else if (text[at + 1] === '"') {
        cell += '"'
        at++
      } else isQuoted = false
    } else if (char === '"' && cell === '') isQuoted = true
    else if (char === separator) {
      record.push(cell)
      cell = ''
    } else if (char === '\n' || char === '\r') {
      if (char === '\r' && text[at + 1] === '\n') at++
      endRecord()
    } else cell += char
  }
  if (!isCut && records.length < most && (cell !== '' || record.length > 0)) endRecord()
  return records
}

/** Null for a text without a header. `isCut`: the file goes on after the text. */
export function readCsvHead(text: string, most: number, isCut = false): CsvHead | null {
  const clean = text.startsWith('\uFEFF') ? text.slice(1) : text
  const heads = SEPARATORS.map((separator) => {
    const [names = []] = parseRecords(clean, separator, 1)
    const header = names.map((name) => name.trim())
    const hasEmail = header.some((name) => EMAIL_NAMES.has(normalizeName(name)))
    return { separator, header, weight: header.length + (hasEmail ? 100_000 : 0) }
  })
  const [best] = heads.toSorted((a, b) => b.weight - a.weight)
  if (best === undefined || best.header.length === 0) return null
  const { separator, header } = best
  return { separator, header, rows: parseRecords(clean, separator, most + 1, isCut).slice(1) }
}

/** Only letters and digits count; case does not. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
}
