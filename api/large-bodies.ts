/**
 * Parses large JSON bodies in a worker thread. A message of 25 MB, or a batch of 500, takes 0.1 s of JSON, base64 and
 * schema validation, which would block the event loop. The thread (`large-bodies-thread.ts`) runs the same code as
 * `request-reader.ts` for small bodies, and buffers are transferred, not copied. There is one thread, which parses one
 * body at a time: large bodies wait for each other, small bodies never wait. The first large body starts the thread; it
 * ends after a minute without work.
 *
 * If the thread dies (out of memory, or a bug), its requests get 503 with Retry-After, and the next body starts a new
 * thread.
 */
import { Worker } from 'node:worker_threads'
import { refuse } from '#src/platform/errors.ts'
import type { Log } from '#src/platform/log.ts'
import type { LargeBodyReader, LargeBodyResult, ParsedBody } from '#api/http/request-reader.ts'

/** The messages to the thread and back. */
export interface LargeBodyRequest {
  readonly id: number
  readonly route: string
  readonly bytes: Uint8Array
}
export interface LargeBodyReply {
  readonly id: number
  readonly parsed: ParsedBody
}

/** Enough for several copies of the largest body, as text and as values. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 1024 }
const IDLE_MS = 60_000
const UNAVAILABLE: LargeBodyResult = {
  ok: false,
  refusal: refuse('SERVICE_UNAVAILABLE', 'The service cannot read the body right now. Try again.', 1),
}

interface ReaderThread {
  readonly worker: Worker
  readonly pending: Map<number, (body: LargeBodyResult) => void>
  idleTimer: NodeJS.Timeout | null
}

export function createLargeBodyReader(log: Log): LargeBodyReader {
  let thread: ReaderThread | null = null
  let lastId = 0

  function open(): ReaderThread {
    const opened: ReaderThread = { worker: startWorker(), pending: new Map(), idleTimer: null }
    const onExit = (): void => {
      if (thread === opened) thread = null
      for (const answer of opened.pending.values()) answer(UNAVAILABLE)
      opened.pending.clear()
    }
    opened.worker.on('message', ({ id, parsed: read }: LargeBodyReply) => {
      opened.pending.get(id)?.({ ok: true, parsed: withBuffers(read) as ParsedBody })
      opened.pending.delete(id)
      if (opened.pending.size === 0) opened.idleTimer = setTimeout(() => close(opened), IDLE_MS).unref()
    })
    opened.worker.on('error', (error) =>
      log.error({ err: error }, 'the thread for large bodies died; its requests get 503'),
    )
    opened.worker.on('exit', onExit)
    return opened
  }

  function close(opened: ReaderThread): void {
    if (thread === opened) thread = null // the next body must not go to a thread that is ending
    void opened.worker.terminate()
  }

  return {
    read: (route, bytes) => {
      const current = (thread ??= open())
      if (current.idleTimer !== null) clearTimeout(current.idleTimer)
      const id = ++lastId
      const { promise, resolve } = Promise.withResolvers<LargeBodyResult>()
      current.pending.set(id, resolve)
      current.worker.postMessage({ id, route, bytes } satisfies LargeBodyRequest, [ownMemoryOf(bytes)])
      return promise
    },
    stop: async () => {
      await thread?.worker.terminate()
    },
  }
}

function startWorker(): Worker {
  const worker = new Worker(new URL('./large-bodies-thread.ts', import.meta.url), { resourceLimits: THREAD_LIMITS })
  worker.unref() // open requests keep the process alive, not the thread
  return worker
}

/** Buffers of this size never share Node's pool for small buffers. */
function ownMemoryOf(bytes: Buffer): ArrayBuffer {
  if (bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength) return bytes.buffer
  throw new Error('the buffer of a large body shares its memory and cannot be transferred')
}

/** Buffers arrive from the thread as Uint8Array; converts them back. */
function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  for (const [key, item] of Object.entries(value))
    if (typeof item === 'object' && item !== null) (value as Record<string, unknown>)[key] = withBuffers(item)
  return value
}
