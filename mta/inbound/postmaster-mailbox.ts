/** Letters to the postmaster, and complaints that name none of our mail, are kept for the operator; a flood of them is not. By process. */
const MOST = 100
const WINDOW_MS = 3_600_000

export interface LetterBox {
  mayTake(): boolean
}

export function createLetterBox(now: () => number): LetterBox {
  let taken = 0
  let endMs = 0
  return {
    mayTake: () => {
      if (now() >= endMs) {
        taken = 0
        endMs = now() + WINDOW_MS
      }
      return ++taken <= MOST
    },
  }
}
