/**
 * Runs at most `concurrency` functions at the same time, in order of arrival. When `maxWaiting` callers wait already,
 * it returns null without running the function.
 */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T | null>

export function createSemaphore(concurrency: number): <T>(work: () => Promise<T>) => Promise<T>
export function createSemaphore(concurrency: number, maxWaiting: number): Semaphore
export function createSemaphore(concurrency: number, maxWaiting = Infinity): Semaphore {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= concurrency && waiting.length >= maxWaiting) return null
    if (running >= concurrency)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
