/**
 * Answers of a store, kept for a moment: however many ask, a name is asked for once in its time, and who asks meanwhile shares the question
 * under way. A question that fails is told to all who wait for it and is not remembered. The oldest go when there are too many.
 */
import type { Clock } from '#src/platform/clock.ts'
import { createShelf, type ShelfBounds } from './ttl-cache.ts'

export interface KeptAnswers<T> {
  find(name: string, ask: () => Promise<T>): Promise<T>
  forget(name: string): void
}

export function createKeptAnswers<T>(clock: Clock, bounds: ShelfBounds): KeptAnswers<T> {
  const shelf = createShelf<Promise<T>>(clock, bounds)
  return {
    find: (name, ask) => {
      const known = shelf.get(name)
      if (known !== undefined) return known
      const answer = ask()
      shelf.put(name, answer)
      answer.catch(() => {
        if (shelf.get(name) === answer) shelf.drop(name)
      })
      return answer
    },
    forget: (name) => shelf.drop(name),
  }
}
