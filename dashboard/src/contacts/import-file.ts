/** A chosen file: its head for the preview, and the content as the import wants it. */
import { detectEncoding, readCsvHead, type CsvHead, type FileEncoding } from './csv-head.ts'

export interface ImportFile {
  readonly file: File
  readonly encoding: FileEncoding
  readonly head: CsvHead
}

const START_BYTES = 128 * 1024
const PREVIEW_ROWS = 5

/** Null for a file without a header. */
export async function openImportFile(file: File): Promise<ImportFile | null> {
  const start = new Uint8Array(await file.slice(0, START_BYTES).arrayBuffer())
  const encoding = detectEncoding(start)
  const isCut = file.size > START_BYTES
  const text = new TextDecoder(encoding).decode(start, { stream: isCut })
  const head = readCsvHead(text, PREVIEW_ROWS, isCut)
  return head === null ? null : { file, encoding, head }
}

/** In UTF-8. Other encodings are converted in memory. */
export async function readForImport({ file, encoding }: ImportFile): Promise<Blob> {
  if (encoding === 'utf-8') return file
  return new Blob([new TextDecoder(encoding).decode(await file.arrayBuffer())], { type: 'text/csv' })
}
