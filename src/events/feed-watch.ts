/**
 * Waits for new events of a workspace, woken by Redis: one subscription for the whole process. While Redis is away
 * nothing wakes the waiting requests, and they must poll (`isDisconnected`). The number of waiting requests is limited,
 * per workspace and in all.
 */
import type { Log } from '#src/platform/log.ts'
import { EVENTS_CHANNEL } from '#src/queue/keys.ts'
import { subscribeToChannels } from '#src/stores/redis.ts'

const MAX_PER_WORKSPACE = 50
const MAX_WAITERS = 2000
/** Minimum time between two wake-ups of one request. */
const SPACING_MS = 50

export interface EventWaiter {
  /** Resolves on new events since the last pause, after `ms`, or when waiting ends. */
  pause(ms: number): Promise<void>
  /** The client disconnected, or the process stops. */
  readonly isOver: boolean
  close(): void
}

export interface EventWatch {
  /** Null if too many requests wait. Events from now on end the next pause. */
  open(workspaceId: string, disconnected: AbortSignal): EventWaiter | null
  /** Redis is unavailable: nothing wakes the waiting requests. */
  readonly isDisconnected: boolean
  /** Ends all waiting, now and in the future. */
  stop(): void
}

export function createEventWatch(redisUrl: string, log: Log): EventWatch {
  const waiting = new Map<string, Set<() => void>>()
  const stopping = new AbortController()
  let count = 0
  const wakeAll = (): void => {
    for (const wakes of waiting.values()) for (const wake of wakes) wake()
  }
  const wakeReaders = (workspaces: string): void => {
    for (const id of workspaces.split(',')) for (const wake of waiting.get(id) ?? []) wake()
  }
  const subscriber = subscribeToChannels(redisUrl, log, { [EVENTS_CHANNEL]: wakeReaders }, wakeAll)

  function open(workspaceId: string, disconnected: AbortSignal): EventWaiter | null {
    const wakes = waiting.get(workspaceId) ?? new Set()
    if (wakes.size >= MAX_PER_WORKSPACE || count >= MAX_WAITERS) return null
    const ended = AbortSignal.any([disconnected, stopping.signal])
    const signal = createWakeSignal()
    const onEnded = (): void => signal.wake(true)
    ended.addEventListener('abort', onEnded)
    waiting.set(workspaceId, wakes.add(signal.wake))
    count++
    return {
      pause: (ms) => (ended.aborted ? Promise.resolve() : signal.wait(ms)),
      get isOver() {
        return ended.aborted
      },
      close: () => {
        ended.removeEventListener('abort', onEnded)
        count--
        wakes.delete(signal.wake)
        if (wakes.size === 0 && waiting.get(workspaceId) === wakes) waiting.delete(workspaceId)
      },
    }
  }

  return {
    open,
    get isDisconnected() {
      return subscriber.status !== 'ready'
    },
    stop: () => {
      stopping.abort()
      subscriber.disconnect()
    },
  }
}

interface WakeSignal {
  /** `isLast`: ignores the minimum time between two wake-ups. */
  readonly wake: (isLast?: boolean) => void
  wait(ms: number): Promise<void>
}

/** A wake-up before `wait` ends it at once; two wake-ups are at least SPACING_MS apart, except the last. */
function createWakeSignal(): WakeSignal {
  let isPending = false
  let finishedAt = -Infinity
  let finish = (): void => undefined
  return {
    wake: (isLast = false) => {
      isPending = true
      const delayMs = finishedAt + SPACING_MS - performance.now()
      if (isLast || delayMs <= 0) finish()
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const delayMs = Math.max(0, finishedAt + SPACING_MS - performance.now())
        const timers: NodeJS.Timeout[] = []
        finish = () => {
          for (const timer of timers) clearTimeout(timer)
          finish = () => undefined
          isPending = false
          finishedAt = performance.now()
          resolve()
        }
        timers.push(
          setTimeout(() => finish(), ms),
          setTimeout(
            () => {
              if (isPending) finish()
            },
            Math.min(delayMs, ms),
          ),
        )
      }),
  }
}
