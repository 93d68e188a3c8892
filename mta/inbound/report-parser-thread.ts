/**
 * The thread that parses reports, one after the other, and posts its results every few milliseconds. It has no secrets
 * and no connections, and may be killed at any time.
 */
import { parentPort } from 'node:worker_threads'
import { parseReport, type ParsedReport } from '#mta/classify/report.ts'

export interface ParseRequest<I = Uint8Array> {
  readonly mails: readonly I[]
}
/**
 * The next results in the order of the request. An empty first response means that the thread is ready. Null: parsing
 * threw, which is a bug in the parser.
 */
export interface ParseResponse<T = ParsedReport> {
  readonly reports: readonly (T | null)[]
}

const POST_INTERVAL_MS = 5

parentPort?.postMessage({ reports: [] } satisfies ParseResponse, [])

parentPort?.on('message', ({ mails }: ParseRequest) => {
  let reports: (ParsedReport | null)[] = []
  let postedAt = performance.now()
  for (const [i, mail] of mails.entries()) {
    reports.push(parse(mail))
    if (i < mails.length - 1 && performance.now() - postedAt < POST_INTERVAL_MS) continue
    parentPort?.postMessage({ reports } satisfies ParseResponse, [])
    reports = []
    postedAt = performance.now()
  }
})

function parse(raw: Uint8Array): ParsedReport | null {
  try {
    return parseReport(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength))
  } catch {
    return null
  }
}
