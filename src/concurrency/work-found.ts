/**
 * What a piece of work that repeats has found: more than it did, so that the next piece follows at once; something; or
 * nothing, so that the next piece may come later.
 */
export type WorkFound = 'more' | 'some' | 'none'

/** Of a piece that handles up to `limit` items and found `count`. */
export function workFound(count: number, limit: number): WorkFound {
  if (count === 0) return 'none'
  return count >= limit ? 'more' : 'some'
}
