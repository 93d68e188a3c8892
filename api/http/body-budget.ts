/**
 * The memory that large bodies may use at the same time. A request reserves its bytes while they arrive or expand, and
 * they are released when its response has closed and no work on the body is left. Both matter: a client that
 * disconnects frees nothing while its body still waits for the thread that parses it, and work that goes on after the
 * client has gone must not reserve what nobody releases any more. So a request whose response has closed gets nothing.
 */
import type { ServerResponse } from 'node:http'

export interface BodyBudget {
  /** Reserved by all requests. */
  readonly bytes: number
  hasRoom(bytes: number): boolean
  /** The memory of one request, empty at first. */
  open(res: ServerResponse): BodyMemory
}

export interface BodyMemory {
  /** Whether the response has closed: it was sent, or the client disconnected. */
  isClosed(): boolean
  /** False if there is no room, or the response has closed. */
  reserve(bytes: number): boolean
  /** Keeps the memory until the work settles, even if the response closes before. */
  keepFor<T>(work: Promise<T>): Promise<T>
}

export function createBodyBudget(max: number): BodyBudget {
  let inUse = 0
  const hasRoom = (bytes: number): boolean => inUse + bytes <= max

  function open(res: ServerResponse): BodyMemory {
    let held = 0
    let works = 0
    let isWaiting = false
    const isClosed = (): boolean => res.destroyed || res.closed
    const releaseIfUnused = (): void => {
      if (!isClosed() || works > 0) return
      inUse -= held
      held = 0
    }
    return {
      isClosed,
      reserve: (bytes) => {
        if (isClosed() || !hasRoom(bytes)) return false
        if (!isWaiting) res.once('close', releaseIfUnused)
        isWaiting = true
        inUse += bytes
        held += bytes
        return true
      },
      keepFor: async (work) => {
        works++
        try {
          return await work
        } finally {
          works--
          releaseIfUnused()
        }
      },
    }
  }

  return {
    get bytes() {
      return inUse
    },
    hasRoom,
    open,
  }
}
