/**
 * Finds the existing name that somebody probably meant: the same letters in another spelling, or a few wrong ones.
 * Pure, and bounded: a long list or a long name costs little.
 */

const MAX_NAMES = 2000
const MAX_LENGTH = 64
const MAX_DISTANCE = 3

/** Null if no name is near. Among equally near ones, the first. */
export function nearestName(wanted: string, names: Iterable<string>): string | null {
  const folded = fold(wanted)
  if (folded === '' || folded.length > MAX_LENGTH) return null
  let best: string | null = null
  // one wrong character in a name of three letters is another name
  let limit = Math.min(MAX_DISTANCE, Math.floor(folded.length / 3)) + 1
  let seen = 0
  for (const name of names) {
    if (++seen > MAX_NAMES) break
    if (name === wanted) continue
    const distance = distanceBelow(folded, fold(name), limit)
    if (distance >= limit) continue
    best = name
    limit = distance
  }
  return best
}

/** `first_name`, `First Name` and `firstName` are spellings of one name. */
function fold(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]+/g, '')
}

/**
 * The number of characters to insert, delete, replace or swap with their neighbour (optimal string alignment), or
 * `limit` if it is not below that.
 */
function distanceBelow(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      next.push(
        Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, isSwapped ? (before[j - 2] ?? 0) + 1 : limit),
      )
    }
    if (Math.min(...next) >= limit) return limit
    before = row
    row = next
  }
  return Math.min(limit, row[b.length] ?? limit)
}
