/**
 * Runs refreshes of a value one after another, so that a slow, older refresh never overwrites a newer one. Calls that
 * arrive while a refresh waits to start share that refresh: it starts after their call, so it sees current data.
 */
export interface CoalescedRefresh {
  /** Resolves when a refresh that started after this call has ended, successfully or not. */
  refresh(): Promise<void>
  /** Resolves when the last requested refresh has ended. */
  settled(): Promise<void>
}

/** `onError` receives the error of a failed refresh; the previous value stays in use. */
export function createCoalescedRefresh(load: () => Promise<void>, onError: (error: unknown) => void): CoalescedRefresh {
  let last: Promise<void> = Promise.resolve()
  let isWaiting = false
  return {
    refresh: () => {
      if (isWaiting) return last
      isWaiting = true
      last = last
        .then(() => {
          isWaiting = false
          return load()
        })
        .catch(onError)
      return last
    },
    settled: () => last,
  }
}
