/**
 * Looks at something that changes, one after another: an older look that comes back late never undoes a newer one. Whoever asks while one
 * waits to begin shares that one, since it begins after the question.
 */
export interface Looks {
  /** Resolves when a look that began after this call has ended, well or not. */
  again(): Promise<void>
  /** Resolves when the last look that was asked for has ended. */
  settled(): Promise<void>
}

/** `failed` hears of a look that failed: what was known before holds. */
export function createLooks(look: () => Promise<void>, failed: (error: unknown) => void): Looks {
  let last: Promise<void> = Promise.resolve()
  let isWaiting = false
  return {
    again: () => {
      if (isWaiting) return last
      isWaiting = true
      last = last
        .then(() => {
          isWaiting = false
          return look()
        })
        .catch(failed)
      return last
    },
    settled: () => last,
  }
}
