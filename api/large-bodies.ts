/**
 * Parses large bodies, JSON and complete messages, in a worker thread. A message of 25 MB, or a batch of 500, takes
 * 0.1 s of JSON, base64 and schema validation, which would block the event loop. The thread (`large-bodies-thread.ts`)
 * runs the same code as `request-reader.ts` for small bodies, and buffers are transferred, not copied. There is one
 * thread, which parses one body at a time: large bodies wait for each other, small bodies never wait. The first large
 * body starts the thread; it ends after a minute without work.
 *
 * Bodies wait here, not in the queue of the thread: one whose client has gone is dropped when its turn comes. If the
 * thread dies (out of memory, or a bug), the request of its body gets 503 with Retry-After, and the next body starts a
 * new thread.
 */
import { Worker } from 'node:worker_threads'
import { invalid, refuse } from '#src/platform/errors.ts'
import type { Log } from '#src/platform/log.ts'
import type { BodyKind } from '#api/http/route.ts'
import type { LargeBodyReader, LargeBodyResult, ParsedBody } from '#api/http/request-reader.ts'

/** The messages to the thread and back. */
export interface LargeBodyRequest {
  readonly route: string
  readonly kind: BodyKind
  readonly bytes: Uint8Array
}
export interface LargeBodyReply {
  readonly parsed: ParsedBody
}

/** Enough for several copies of the largest body, as text and as values. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 1024 }
const IDLE_MS = 60_000
const UNAVAILABLE: LargeBodyResult = {
  ok: false,
  refusal: refuse('SERVICE_UNAVAILABLE', 'The service cannot read the body right now. Try again.', 1),
}

const ABANDONED: LargeBodyResult = { ok: false, refusal: invalid([{ path: '', message: 'the client disconnected' }]) }

interface WaitingBody extends LargeBodyRequest {
  readonly bytes: Uint8Array<ArrayBuffer>
  isAbandoned(): boolean
  resolve(result: LargeBodyResult): void
}

interface ReaderThread {
  readonly worker: Worker
  /** The body that it parses. */
  current: WaitingBody | null
  idleTimer: NodeJS.Timeout | null
}

export function createLargeBodyReader(log: Log): LargeBodyReader {
  let thread: ReaderThread | null = null
  let isStopping = false
  const waiting: WaitingBody[] = []

  function open(): ReaderThread {
    const opened: ReaderThread = { worker: startWorker(), current: null, idleTimer: null }
    const finish = (result: LargeBodyResult): void => {
      opened.current?.resolve(result)
      opened.current = null
      parseNext()
    }
    opened.worker.on('message', ({ parsed }: LargeBodyReply) =>
      finish({ ok: true, parsed: withBuffers(parsed) as ParsedBody }),
    )
    opened.worker.on('error', (error) =>
      log.error({ err: error }, 'the thread for large bodies died; the request of its body gets 503'),
    )
    opened.worker.on('exit', () => {
      if (thread === opened) thread = null
      finish(UNAVAILABLE)
    })
    return opened
  }

  function parseNext(): void {
    if (isStopping) for (const body of waiting.splice(0)) body.resolve(UNAVAILABLE)
    if (thread !== null && thread.current !== null) return
    let next = waiting.shift()
    for (; next?.isAbandoned() === true; next = waiting.shift()) next.resolve(ABANDONED)
    if (next === undefined) return closeWhenIdle()
    const opened = (thread ??= open())
    if (opened.idleTimer !== null) clearTimeout(opened.idleTimer)
    opened.current = next
    const { route, kind, bytes } = next
    opened.worker.postMessage({ route, kind, bytes } satisfies LargeBodyRequest, [bytes.buffer])
  }

  function closeWhenIdle(): void {
    const opened = thread
    if (opened === null) return
    if (opened.idleTimer !== null) clearTimeout(opened.idleTimer)
    opened.idleTimer = setTimeout(() => {
      if (thread === opened) thread = null // the next body must not go to a thread that is ending
      void opened.worker.terminate()
    }, IDLE_MS).unref()
  }

  return {
    read: (route, bytes, kind, isAbandoned = () => false) => {
      const { promise, resolve } = Promise.withResolvers<LargeBodyResult>()
      waiting.push({ route, kind, bytes: withOwnMemory(bytes), isAbandoned, resolve })
      parseNext()
      return promise
    },
    stop: async () => {
      isStopping = true
      parseNext()
      await thread?.worker.terminate()
    },
  }
}

function startWorker(): Worker {
  const worker = new Worker(new URL('./large-bodies-thread.ts', import.meta.url), { resourceLimits: THREAD_LIMITS })
  worker.unref() // open requests keep the process alive, not the thread
  return worker
}

/**
 * A body that came in one chunk shares the memory of the connection's buffer; such a body is small, and copied. One
 * without Content-Length is copied from its larger buffer.
 */
function withOwnMemory(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes
  return buffer instanceof ArrayBuffer && bytes.length === buffer.byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes)
}

/** Buffers arrive from the thread as Uint8Array; converts them back. */
function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  for (const [key, item] of Object.entries(value))
    if (typeof item === 'object' && item !== null) (value as Record<string, unknown>)[key] = withBuffers(item)
  return value
}
