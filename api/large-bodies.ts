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
import type { LargeBodies, LargeBody, ReadBody } from '#api/http/read-body.ts'

/** What travels to the thread, and back. */
export interface LargeRequest {
  readonly id: number
  readonly route: string
  readonly bytes: Uint8Array
}
export interface LargeReply {
  readonly id: number
  readonly read: ReadBody
}

/** The largest body, as text and as values, several times over. */
const MEMORY = { maxOldGenerationSizeMb: 1024 }
const IDLE_MS = 60_000
const AWAY: LargeBody = {
  ok: false,
  refusal: refuse('SERVICE_UNAVAILABLE', 'The body could not be read right now. Try again.', 1),
}

interface Thread {
  readonly worker: Worker
  readonly waiting: Map<number, (body: LargeBody) => void>
  idle: NodeJS.Timeout | null
}

export function createLargeBodies(log: Log): LargeBodies {
  let thread: Thread | null = null
  let lastId = 0

  function open(): Thread {
    const opened: Thread = { worker: startWorker(), waiting: new Map(), idle: null }
    const lose = (): void => {
      if (thread === opened) thread = null
      for (const answer of opened.waiting.values()) answer(AWAY)
      opened.waiting.clear()
    }
    opened.worker.on('message', ({ id, read }: LargeReply) => {
      opened.waiting.get(id)?.({ ok: true, read: withBuffers(read) as ReadBody })
      opened.waiting.delete(id)
      if (opened.waiting.size === 0) opened.idle = setTimeout(() => close(opened), IDLE_MS).unref()
    })
    opened.worker.on('error', (error) => log.error({ err: error }, 'the thread that reads large bodies died'))
    opened.worker.on('exit', lose)
    return opened
  }

  function close(opened: Thread): void {
    if (thread === opened) thread = null // the next body does not go to one that is ending
    void opened.worker.terminate()
  }

  return {
    read: (route, bytes) => {
      const used = (thread ??= open())
      if (used.idle !== null) clearTimeout(used.idle)
      const id = ++lastId
      const { promise, resolve } = Promise.withResolvers<LargeBody>()
      used.waiting.set(id, resolve)
      used.worker.postMessage({ id, route, bytes } satisfies LargeRequest, [ownMemoryOf(bytes)])
      return promise
    },
    stop: async () => {
      await thread?.worker.terminate()
    },
  }
}

function startWorker(): Worker {
  const worker = new Worker(new URL('./large-bodies-thread.ts', import.meta.url), { resourceLimits: MEMORY })
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
