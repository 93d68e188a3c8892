/** Why an import ended early, by code. It is stored as a sentence. */
import { createSentenceFinder } from '#src/platform/sentence-codes.ts'

export const IMPORT_REASON_TEXTS = {
  at_line: 'line {line}: {problem}',
  row_too_long: 'the row is longer than {max} characters; check for a quote that is never closed',
  quote_not_closed: 'the file ends inside a quoted cell: its quote is never closed',
  internal: 'internal error; see the log of the worker',
  upload_ended: 'the upload was not completed',
} as const satisfies Readonly<Record<string, string>>

/** Null: the reason has no code. */
export const findImportTranslation = createSentenceFinder('import_reason', IMPORT_REASON_TEXTS, {
  problem: (sentence) => findImportTranslation(sentence),
})
