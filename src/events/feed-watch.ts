/**
 * Waiting for events of a workspace, woken by Redis: one subscription for the whole process, whoever waits. While Redis is away the waiting
 * is no longer woken and must look by itself (`isDisconnected`). How many may wait is bounded, for each workspace and in all.
 */
import type { Log } from '#src/platform/log.ts'
import { EVENTS_CHANNEL } from '#src/queue/keys.ts'
import { subscribeToChannels } from '#src/stores/redis.ts'

const MAX_PER_WORKSPACE = 50
const MAX_WAITERS = 2000
/** A workspace that is busy wakes its readers no more often. */
const SPACING_MS = 50

export interface EventWaiter {
  /** Resolves on news since the last pause, after `ms`, or when the waiting is over. */
  pause(ms: number): Promise<void>
  /** Its client went away, or the process stops. */
  readonly isOver: boolean
  close(): void
}

export interface EventWatch {
  /** Null when too many wait. From now on news is kept for the next pause. */
  open(workspaceId: string, disconnected: AbortSignal): EventWaiter | null
  /** Nothing wakes now. */
  readonly isDisconnected: boolean
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
  const subscriber = subscribeToChannels(redisUrl, log, [EVENTS_CHANNEL], { onMessage: wakeReaders, onSubscribed: wakeAll })

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
  /** `isLast`: without regard to the spacing. */
  readonly wake: (isLast?: boolean) => void
  wait(ms: number): Promise<void>
}

/** One who waits: rung before, it does not wait; and never answers twice within the spacing unless it is the last time. */
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
