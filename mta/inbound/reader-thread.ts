/**
 * The thread that reads reports, one after the other, and tells what it has read every few milliseconds. It has no secrets and no
 * connections, and may be killed at any time.
 */
import { parentPort } from 'node:worker_threads'
import { readReport, type Report } from '#mta/classify/report.ts'

export interface Question {
  readonly raws: readonly Uint8Array[]
}
/** The next of those that were asked for; none of them: the thread is ready. Null where reading failed, which is a bug of ours. */
export interface Answer<T = Report> {
  readonly reports: readonly (T | null)[]
}

const TELL_MS = 5

parentPort?.postMessage({ reports: [] } satisfies Answer, [])

parentPort?.on('message', ({ raws }: Question) => {
  let reports: (Report | null)[] = []
  let toldAt = performance.now()
  for (const [i, raw] of raws.entries()) {
    reports.push(read(raw))
    if (i < raws.length - 1 && performance.now() - toldAt < TELL_MS) continue
    parentPort?.postMessage({ reports } satisfies Answer, [])
    reports = []
    toldAt = performance.now()
  }
})

function read(raw: Uint8Array): Report | null {
  try {
    return readReport(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength))
  } catch {
    return null
  }
}
