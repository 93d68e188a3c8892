/**
 * Bounds the large content in memory: work over the budget waits in order. Content larger than the whole budget runs
 * alone.
 */
export interface MemoryBudget {
  runWithin<T>(bytes: number, work: () => Promise<T>): Promise<T>
}

export function createMemoryBudget(maxBytes: number): MemoryBudget {
  let usedBytes = 0
  const waiting: { readonly bytes: number; readonly start: () => void }[] = []

  function admit(): void {
    for (
      let first = waiting[0];
      first !== undefined && (usedBytes === 0 || usedBytes + first.bytes <= maxBytes);
      first = waiting[0]
    ) {
      waiting.shift()
      usedBytes += first.bytes
      first.start()
    }
  }

  return {
    runWithin: async (bytes, work) => {
      await new Promise<void>((start) => {
        waiting.push({ bytes, start })
        admit()
      })
      try {
        return await work()
      } finally {
        usedBytes -= bytes
        admit()
      }
    },
  }
}
