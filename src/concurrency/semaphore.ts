/** Runs at most `atOnce` pieces of work at a time, in the order they came; beyond `mostWaiting` of them it answers null at once. */
export type Turnstile = <T>(work: () => Promise<T>) => Promise<T | null>

export function createTurnstile(atOnce: number): <T>(work: () => Promise<T>) => Promise<T>
export function createTurnstile(atOnce: number, mostWaiting: number): Turnstile
export function createTurnstile(atOnce: number, mostWaiting = Infinity): Turnstile {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= atOnce && waiting.length >= mostWaiting) return null
    if (running >= atOnce)
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
