/** Parses bounces, complaints and replies in a thread of their own (parser-thread.ts). */
import type { ParsedReport } from '#mta/classify/report.ts'
import { createParserThread, type ParserThread } from '#src/platform/parser-thread.ts'

export type ReportParser = ParserThread<ParsedReport>

const THREAD = new URL('./report-parser-thread.ts', import.meta.url)
/** An ordinary mail takes about 1 ms, the worst known one 100 ms. */
const TIMEOUT_MS = 3000

export function createReportParser(): ReportParser {
  return createParserThread({ file: THREAD, timeoutMs: TIMEOUT_MS })
}
