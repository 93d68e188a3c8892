/**
 * Limits work that holds up the event loop to a share of the time: a token bucket in milliseconds, which `share` fills
 * up to `burstMs`. Work is charged after it ran, so a long piece leaves a debt, which delays the next one.
 */
export interface TimeBudget {
  /** Whether work may run now. */
  readonly isLeft: boolean
  /** Runs synchronous work and charges what it took, even if it throws. */
  spend<T>(work: () => T): T
}

export interface TimeBudgetOptions {
  /** Of all time, above 0 and at most 1. */
  readonly share: number
  readonly burstMs: number
  /** In milliseconds, never backwards. */
  readonly now?: () => number
}

export function createTimeBudget({ share, burstMs, now = () => performance.now() }: TimeBudgetOptions): TimeBudget {
  let leftMs = burstMs
  let countedAt = now()

  function count(): void {
    const at = now()
    leftMs = Math.min(burstMs, leftMs + share * (at - countedAt))
    countedAt = at
  }

  return {
    get isLeft() {
      count()
      return leftMs > 0
    },
    spend: (work) => {
      const startedAt = now()
      try {
        return work()
      } finally {
        count()
        leftMs -= countedAt - startedAt
      }
    },
  }
}
