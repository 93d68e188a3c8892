/**
 * Limits how many messages to postmaster, and complaints that quote none of our return-paths, are stored for the
 * operator. Counted per process.
 */
const MAX_PER_WINDOW = 100
const WINDOW_MS = 3_600_000

export interface PostmasterLimit {
  mayAccept(): boolean
}

export function createPostmasterLimit(now: () => number): PostmasterLimit {
  let accepted = 0
  let endMs = 0
  return {
    mayAccept: () => {
      if (now() >= endMs) {
        accepted = 0
        endMs = now() + WINDOW_MS
      }
      return ++accepted <= MAX_PER_WINDOW
    },
  }
}
