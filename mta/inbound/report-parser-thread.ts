/**
 * The thread that parses reports, one after the other, and posts its results every few milliseconds. It has no secrets
 * and no connections, and may be killed at any time.
 */
import { parentPort } from 'node:worker_threads'
import { parseReport, type ParsedReport } from '#mta/classify/report.ts'
import type { ParseRequest, ParseResponse } from '#src/platform/parser-thread.ts'

const POST_INTERVAL_MS = 5

parentPort?.postMessage({ results: [] } satisfies ParseResponse<ParsedReport>, [])

parentPort?.on('message', ({ inputs }: ParseRequest) => {
  let results: (ParsedReport | null)[] = []
  let postedAt = performance.now()
  for (const [i, mail] of inputs.entries()) {
    results.push(parse(mail))
    if (i < inputs.length - 1 && performance.now() - postedAt < POST_INTERVAL_MS) continue
    parentPort?.postMessage({ results } satisfies ParseResponse<ParsedReport>, [])
    results = []
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
