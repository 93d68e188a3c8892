/**
 * Parses reports in a worker thread, so that a hostile mail delays neither SMTP sessions nor other reports. A mail that
 * exceeds the time or memory limit, or crashes the thread, ends the thread and counts as unreadable; a new thread
 * parses the rest. If a thread cannot start, `parse` throws and the reports stay stored. One batch at a time.
 */
import { Worker } from 'node:worker_threads'
import type { ParsedReport } from '#mta/classify/report.ts'
import { THREAD_ENV, THREAD_OPTIONS } from '#src/platform/thread-env.ts'
import type { ParseResponse, ParseRequest } from './report-parser-thread.ts'

export interface ReportParser<T = ParsedReport, I = Buffer> {
  /** One result for each mail, in order; null where the mail could not be parsed. */
  parse(mails: readonly I[]): Promise<(T | null)[]>
  stop(): Promise<void>
}

const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 6, stackSizeMb: 4 }
/** Limit for one mail. An ordinary mail takes about 1 ms, the worst known one 100 ms. */
const TIMEOUT_MS = 3000
const START_TIMEOUT_MS = 30_000
const THREAD = new URL('./report-parser-thread.ts', import.meta.url)

export interface ReportParserOptions {
  /** Limit for one mail. */
  readonly timeoutMs?: number
  /** The module that the thread runs. */
  readonly file?: URL
  readonly workerData?: unknown
  /** Limit of the memory of the thread, without the octets of mails. */
  readonly memoryMb?: number
}

export function createReportParser<T = ParsedReport, I = Buffer>({
  timeoutMs = TIMEOUT_MS,
  file = THREAD,
  workerData,
  memoryMb = RESOURCE_LIMITS.maxOldGenerationSizeMb,
}: ReportParserOptions = {}): ReportParser<T, I> {
  let thread: Worker | null = null
  let isStopped = false
  let startError: Error | null = null

  function start(): Worker {
    const execArgv = [...THREAD_OPTIONS]
    const resourceLimits = { ...RESOURCE_LIMITS, maxOldGenerationSizeMb: memoryMb }
    const worker = new Worker(file, { resourceLimits, env: THREAD_ENV, execArgv, workerData })
    worker.on('exit', () => {
      if (thread === worker) thread = null
    })
    worker.on('error', (error) => {
      startError = isOutOfMemory(error) ? null : asError(error)
    })
    worker.unref()
    return worker
  }

  /** Returns fewer results than mails if the thread died while parsing one of them. */
  async function parseSome(mails: readonly I[]): Promise<(T | null)[]> {
    const isNew = thread === null
    const firstMs = isNew ? START_TIMEOUT_MS : timeoutMs
    startError = null
    const reports = await collectReports<T>((thread ??= start()), mails, { firstMs, nextMs: timeoutMs })
    if (isNew && reports === null) throw startError ?? new Error('the report parser thread did not start')
    return reports ?? []
  }

  return {
    async parse(mails) {
      const reports: (T | null)[] = []
      let isOneByOne = false // finds the mail that killed the thread
      while (reports.length < mails.length) {
        if (isStopped) throw new Error('the report parser is stopped')
        const requested = isOneByOne ? 1 : mails.length - reports.length
        const some = await parseSome(mails.slice(reports.length, reports.length + requested))
        reports.push(...some)
        if (some.length === requested) continue
        if (isOneByOne) reports.push(null)
        isOneByOne = !isOneByOne
      }
      return reports
    },
    stop: async () => {
      isStopped = true
      await thread?.terminate()
    },
  }
}

interface ParseTimeouts {
  /** Until the first result; includes the start of a new thread. */
  readonly firstMs: number
  readonly nextMs: number
}

/**
 * Collects results until the thread has sent all or died; null if it sent none. Terminates a thread that is too slow.
 */
async function collectReports<T>(
  worker: Worker,
  mails: readonly unknown[],
  { firstMs, nextMs }: ParseTimeouts,
): Promise<(T | null)[] | null> {
  const reports: (T | null)[] = []
  const { promise, resolve } = Promise.withResolvers<null>()
  let timer = setTimeout(() => void worker.terminate(), firstMs)
  let hasAnswered = false
  const receive = ({ reports: some }: ParseResponse<T>): void => {
    hasAnswered = true
    reports.push(...some)
    clearTimeout(timer)
    timer = setTimeout(() => void worker.terminate(), nextMs)
    if (reports.length === mails.length) resolve(null)
  }
  const end = (): void => resolve(null)
  worker.on('message', receive).once('exit', end)
  worker.ref()
  worker.postMessage({ mails } satisfies ParseRequest<unknown>, [])
  await promise
  clearTimeout(timer)
  worker.off('message', receive).off('exit', end)
  worker.unref()
  return hasAnswered ? reports : null
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
