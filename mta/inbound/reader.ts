/**
 * Reads reports in a thread of its own, so that a mail made to be hard to read holds up neither the SMTP talk nor the others: one that
 * takes too long, or too much memory, or brings it to fall, ends the thread and is told as unreadable; the thread is started anew. A thread
 * that cannot be started is our own fault: that throws, and nothing is lost. One batch at a time.
 */
import { Worker } from 'node:worker_threads'
import type { Report } from '#mta/classify/report.ts'
import { THREAD_ENV } from '#src/platform/thread-env.ts'
import type { Answer, Question } from './reader-thread.ts'

export interface Reader<T = Report> {
  /** One for each mail, in order; null where it could not be read. */
  read(raws: readonly Buffer[]): Promise<(T | null)[]>
  stop(): Promise<void>
}

const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 6, stackSizeMb: 4 }
/** For one mail. An ordinary one takes about a millisecond, the worst that is known a tenth of a second. */
const LONGEST_MS = 3000
const START_MS = 30_000
const THREAD = new URL('./reader-thread.ts', import.meta.url)

export interface ReaderOptions {
  /** For one mail. */
  readonly longestMs?: number
  /** What the thread runs, and what it is given. */
  readonly file?: URL
  readonly workerData?: unknown
}

export function createReader<T = Report>({
  longestMs = LONGEST_MS,
  file = THREAD,
  workerData,
}: ReaderOptions = {}): Reader<T> {
  let thread: Worker | null = null
  let isStopped = false
  let fault: Error | null = null

  function start(): Worker {
    const fresh = new Worker(file, { resourceLimits: MEMORY, env: THREAD_ENV, execArgv: [], workerData })
    fresh.on('exit', () => {
      if (thread === fresh) thread = null
    })
    fresh.on('error', (error) => {
      fault = isOutOfMemory(error) ? null : asError(error)
    })
    fresh.unref()
    return fresh
  }

  /** Fewer reports than mails when the thread died over one of them. */
  async function readSome(raws: readonly Buffer[]): Promise<(T | null)[]> {
    const isNew = thread === null
    const firstMs = isNew ? START_MS : longestMs
    fault = null
    const reports = await collect<T>((thread ??= start()), raws, { firstMs, longestMs })
    if (isNew && reports === null) throw fault ?? new Error('the thread that reads reports did not start')
    return reports ?? []
  }

  return {
    async read(raws) {
      const reports: (T | null)[] = []
      let isCareful = false // one at a time, to find the one that the thread died over
      while (reports.length < raws.length) {
        if (isStopped) throw new Error('the reader was stopped')
        const asked = isCareful ? 1 : raws.length - reports.length
        const some = await readSome(raws.slice(reports.length, reports.length + asked))
        reports.push(...some)
        if (some.length === asked) continue
        if (isCareful) reports.push(null)
        isCareful = !isCareful
      }
      return reports
    },
    stop: async () => {
      isStopped = true
      await thread?.terminate()
    },
  }
}

interface Patience {
  /** Until the first report, which includes the start of a new thread. */
  readonly firstMs: number
  readonly longestMs: number
}

/** The thread's reports until it has sent all of them or died; null when it sent none. Ends a thread that is too slow. */
async function collect<T>(
  worker: Worker,
  raws: readonly Buffer[],
  { firstMs, longestMs }: Patience,
): Promise<(T | null)[] | null> {
  const reports: (T | null)[] = []
  const { promise, resolve } = Promise.withResolvers<null>()
  let timer = setTimeout(() => void worker.terminate(), firstMs)
  let hasAnswered = false
  const take = ({ reports: some }: Answer<T>): void => {
    hasAnswered = true
    reports.push(...some)
    clearTimeout(timer)
    timer = setTimeout(() => void worker.terminate(), longestMs)
    if (reports.length === raws.length) resolve(null)
  }
  const end = (): void => resolve(null)
  worker.on('message', take).once('exit', end)
  worker.ref()
  worker.postMessage({ raws } satisfies Question, [])
  await promise
  clearTimeout(timer)
  worker.off('message', take).off('exit', end)
  worker.unref()
  return hasAnswered ? reports : null
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
