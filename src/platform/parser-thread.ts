/**
 * Parses hostile input in a worker thread, so that it delays neither the event loop nor other input. An input that
 * exceeds the time or memory limit, or crashes the thread, ends the thread and counts as unreadable; a new thread
 * parses the rest. If a thread cannot start, `parse` throws and no input counts as unreadable. One batch at a time.
 */
import { Worker } from 'node:worker_threads'
import { THREAD_ENV, THREAD_OPTIONS } from './thread-env.ts'

/** The messages to the thread and back. */
export interface ParseRequest<Input = Uint8Array> {
  readonly inputs: readonly Input[]
}
/**
 * The next results in the order of the request. An empty first response means that the thread is ready. Null: parsing
 * threw, which is a bug in the parser.
 */
export interface ParseResponse<Result> {
  readonly results: readonly (Result | null)[]
}

export interface ParserThread<Result, Input = Buffer> {
  /** One result for each input, in order; null where the input could not be parsed. */
  parse(inputs: readonly Input[]): Promise<(Result | null)[]>
  stop(): Promise<void>
}

const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 6, stackSizeMb: 4 }
const START_TIMEOUT_MS = 30_000

export interface ParserThreadOptions {
  /** The module that the thread runs. */
  readonly file: URL
  /** Limit for one input. */
  readonly timeoutMs: number
  readonly workerData?: unknown
  /** Limit of the memory of the thread, without the octets of inputs. */
  readonly memoryMb?: number
}

export function createParserThread<Result, Input = Buffer>({
  file,
  timeoutMs,
  workerData,
  memoryMb = RESOURCE_LIMITS.maxOldGenerationSizeMb,
}: ParserThreadOptions): ParserThread<Result, Input> {
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

  /** Returns fewer results than inputs if the thread died while parsing one of them. */
  async function parseSome(inputs: readonly Input[]): Promise<(Result | null)[]> {
    const isNew = thread === null
    const firstMs = isNew ? START_TIMEOUT_MS : timeoutMs
    startError = null
    const results = await collectResults<Result>((thread ??= start()), inputs, { firstMs, nextMs: timeoutMs })
    if (isNew && results === null) throw startError ?? new Error('the thread that parses did not start')
    return results ?? []
  }

  return {
    async parse(inputs) {
      const results: (Result | null)[] = []
      let isOneByOne = false // finds the input that killed the thread
      while (results.length < inputs.length) {
        if (isStopped) throw new Error('the thread that parses is stopped')
        const requested = isOneByOne ? 1 : inputs.length - results.length
        const some = await parseSome(inputs.slice(results.length, results.length + requested))
        results.push(...some)
        if (some.length === requested) continue
        if (isOneByOne) results.push(null)
        isOneByOne = !isOneByOne
      }
      return results
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
async function collectResults<Result>(
  worker: Worker,
  inputs: readonly unknown[],
  { firstMs, nextMs }: ParseTimeouts,
): Promise<(Result | null)[] | null> {
  const results: (Result | null)[] = []
  const { promise, resolve } = Promise.withResolvers<null>()
  let timer = setTimeout(() => void worker.terminate(), firstMs)
  let hasAnswered = false
  const receive = ({ results: some }: ParseResponse<Result>): void => {
    hasAnswered = true
    results.push(...some)
    clearTimeout(timer)
    timer = setTimeout(() => void worker.terminate(), nextMs)
    if (results.length === inputs.length) resolve(null)
  }
  const end = (): void => resolve(null)
  worker.on('message', receive).once('exit', end)
  worker.ref()
  worker.postMessage({ inputs } satisfies ParseRequest<unknown>, [])
  await promise
  clearTimeout(timer)
  worker.off('message', receive).off('exit', end)
  worker.unref()
  return hasAnswered ? results : null
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
