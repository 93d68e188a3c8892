/**
 * Waits for new events of a workspace, woken by Redis: one subscription for the whole process. While Redis is away
 * nothing wakes the waiting requests, and they must poll (`isDisconnected`). The number of waiting requests is limited,
 * per workspace and in all.
 */
import { createWakeSignal } from '#src/concurrency/wake-signal.ts'
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
  /** Calls `onNews` with the workspaces that have new events; null: all, because notifications may be lost. */
  follow(onNews: (workspaceIds: readonly string[] | null) => void): void
  /** Redis is unavailable: nothing wakes the waiting requests. */
  readonly isDisconnected: boolean
  /** Ends all waiting, now and in the future. */
  stop(): void
}

export function createEventWatch(redisUrl: string, log: Log): EventWatch {
  const waiting = new Map<string, Set<() => void>>()
  const followers: ((workspaceIds: readonly string[] | null) => void)[] = []
  const stopping = new AbortController()
  let count = 0
  const wakeAll = (): void => {
    for (const wakes of waiting.values()) for (const wake of wakes) wake()
    for (const onNews of followers) onNews(null)
  }
  const wakeReaders = (workspaces: string): void => {
    const ids = workspaces.split(',')
    for (const id of ids) for (const wake of waiting.get(id) ?? []) wake()
    for (const onNews of followers) onNews(ids)
  }
  const subscriber = subscribeToChannels(redisUrl, log, { [EVENTS_CHANNEL]: wakeReaders }, wakeAll)

  function open(workspaceId: string, disconnected: AbortSignal): EventWaiter | null {
    const wakes = waiting.get(workspaceId) ?? new Set()
    if (wakes.size >= MAX_PER_WORKSPACE || count >= MAX_WAITERS) return null
    const ended = AbortSignal.any([disconnected, stopping.signal])
    const signal = createWakeSignal(SPACING_MS)
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
    follow: (onNews) => void followers.push(onNews),
    get isDisconnected() {
      return subscriber.status !== 'ready'
    },
    stop: () => {
      stopping.abort()
      subscriber.disconnect()
    },
  }
}
