/**
 * Waiting for events of a workspace, woken by Redis: one subscription for the whole process, whoever waits. While Redis is away the waiting
 * is no longer woken and must look by itself (`isDeaf`). How many may wait is bounded, for each workspace and in all.
 */
import type { Log } from '#src/platform/log.ts'
import { EVENTS_CHANNEL } from '#src/queue/keys.ts'
import { listenTo } from '#src/stores/redis.ts'

const MOST_OF_ONE = 50
const MOST_IN_ALL = 2000
/** A workspace that is busy wakes its readers no more often. */
const SPACING_MS = 50

export interface Waiter {
  /** Resolves on news since the last pause, after `ms`, or when the waiting is over. */
  pause(ms: number): Promise<void>
  /** Its client went away, or the process stops. */
  readonly isOver: boolean
  close(): void
}

export interface EventWatch {
  /** Null when too many wait. From now on news is kept for the next pause. */
  open(workspaceId: string, gone: AbortSignal): Waiter | null
  /** Nothing wakes now. */
  readonly isDeaf: boolean
  /** Ends all waiting, now and later. */
  stop(): void
}

export function createEventWatch(redisUrl: string, log: Log): EventWatch {
  const waiting = new Map<string, Set<() => void>>()
  const stopping = new AbortController()
  let count = 0
  const wakeAll = (): void => {
    for (const wakes of waiting.values()) for (const wake of wakes) wake()
  }
  const wakeReaders = (_channel: string, workspaces: string): void => {
    for (const id of workspaces.split(',')) for (const wake of waiting.get(id) ?? []) wake()
  }
  const subscriber = listenTo(redisUrl, log, [EVENTS_CHANNEL], { heard: wakeReaders, isListening: wakeAll })

  function open(workspaceId: string, gone: AbortSignal): Waiter | null {
    const wakes = waiting.get(workspaceId) ?? new Set()
    if (wakes.size >= MOST_OF_ONE || count >= MOST_IN_ALL) return null
    const over = AbortSignal.any([gone, stopping.signal])
    const bell = createBell()
    const isOver = (): void => bell.ring(true)
    over.addEventListener('abort', isOver)
    waiting.set(workspaceId, wakes.add(bell.ring))
    count++
    return {
      pause: (ms) => (over.aborted ? Promise.resolve() : bell.wait(ms)),
      get isOver() {
        return over.aborted
      },
      close: () => {
        over.removeEventListener('abort', isOver)
        count--
        wakes.delete(bell.ring)
        if (wakes.size === 0 && waiting.get(workspaceId) === wakes) waiting.delete(workspaceId)
      },
    }
  }

  return {
    open,
    get isDeaf() {
      return subscriber.status !== 'ready'
    },
    stop: () => {
      stopping.abort()
      subscriber.disconnect()
    },
  }
}

interface Bell {
  /** `isLast`: without regard to the spacing. */
  readonly ring: (isLast?: boolean) => void
  wait(ms: number): Promise<void>
}

/** One who waits: rung before, it does not wait; and never answers twice within the spacing unless it is the last time. */
function createBell(): Bell {
  let isRung = false
  let answeredAt = -Infinity
  let answer = (): void => undefined
  return {
    ring: (isLast = false) => {
      isRung = true
      const early = answeredAt + SPACING_MS - performance.now()
      if (isLast || early <= 0) answer()
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const early = Math.max(0, answeredAt + SPACING_MS - performance.now())
        const timers: NodeJS.Timeout[] = []
        answer = () => {
          for (const timer of timers) clearTimeout(timer)
          answer = () => undefined
          isRung = false
          answeredAt = performance.now()
          resolve()
        }
        timers.push(
          setTimeout(() => answer(), ms),
          setTimeout(
            () => {
              if (isRung) answer()
            },
            Math.min(early, ms),
          ),
        )
      }),
  }
}
