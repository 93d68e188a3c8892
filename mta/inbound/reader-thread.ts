/**
 * The thread that reads reports, one after the other, and tells each as soon as it is read. It has no secrets and no connections, and may
 * be killed at any time.
 */
import { parentPort } from 'node:worker_threads'
import { readReport, type Report } from '#mta/classify/report.ts'

export interface Question { readonly raws: readonly Uint8Array[] }
/** Null where reading failed, which is a bug of ours. */
export interface Answer<T = Report> { readonly report: T | null }

parentPort?.on('message', ({ raws }: Question) => {
  for (const raw of raws) parentPort?.postMessage({ report: read(raw) } satisfies Answer, [])
})

function read(raw: Uint8Array): Report | null {
  try {
    return readReport(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength))
  } catch {
    return null
  }
}
