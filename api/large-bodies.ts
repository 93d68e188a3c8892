/**
 * Large bodies are read in a thread beside the event loop: a message of 25 MB, or a batch of 500, takes a tenth of a second of JSON, base64
 * and schema, in which nobody else would be answered. The thread does what `request-reader.ts` does with a small body (large-bodies-thread.ts), so the
 * outcome is the same; bytes travel without being copied. One thread, one body at a time: large bodies wait for each other, not small ones
 * for them. It is started by the first large body and ended when none has come for a while.
 *
 * The thread dies (memory, a fault of ours): the requests in it are told to come again, and the next one gets a new thread.
 */
import { Worker } from 'node:worker_threads'
import { refuse } from '#src/platform/errors.ts'
import type { Log } from '#src/platform/log.ts'
import type { LargeBodyReader, LargeBodyResult, ParsedBody } from '#api/http/parse-body.ts'

/** What travels to the thread, and back. */
export interface LargeBodyRequest {
  readonly id: number
  readonly route: string
  readonly bytes: Uint8Array
}
export interface LargeBodyReply {
  readonly id: number
  readonly parsed: ParsedBody
}

/** The largest body, as text and as values, several times over. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 1024 }
const IDLE_MS = 60_000
const UNAVAILABLE: LargeBodyResult = {
  ok: false,
  refusal: refuse('SERVICE_UNAVAILABLE', 'The body could not be read right now. Try again.', 1),
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
    opened.worker.on('error', (error) => log.error({ err: error }, 'the thread that reads large bodies died'))
    opened.worker.on('exit', onExit)
    return opened
  }

  function close(opened: ReaderThread): void {
    if (thread === opened) thread = null // the next body does not go to one that is ending
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
  worker.unref() // an open request holds the process, not this
  return worker
}

/** Bodies of this size are never part of Node's pool of small buffers. */
function ownMemoryOf(bytes: Buffer): ArrayBuffer {
  if (bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength) return bytes.buffer
  throw new Error('a large body shares its memory')
}

/** Buffers come out of the thread as plain bytes. */
function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  for (const [key, item] of Object.entries(value))
    if (typeof item === 'object' && item !== null) (value as Record<string, unknown>)[key] = withBuffers(item)
  return value
}
