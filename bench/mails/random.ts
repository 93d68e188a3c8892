/** A seeded generator of random values: the same seed gives the same mail in every run. Pure apart from its state. */

export interface Random {
  /** A whole number from `min` to `max`. */
  int(min: number, max: number): number
  pick<T>(values: readonly T[]): T
  /** Letters and digits, as in tokens of links. */
  token(length: number): string
  /** Words with a full stop at the end. */
  sentence(words: number): string
}

const TOKEN_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const WORDS = (
  'the order parcel arrives tomorrow between nine and noon please keep this number at hand when driver rings ' +
  'collection autumn light wool soft cotton made in Portugal café crème brûlée naïve façade Zürich Malmö free ' +
  'shipping within five days return it until the end of month questions are answered by real people every day ' +
  'new arrivals for your kitchen garden and desk discover what our team has picked this week save on everything'
).split(' ')

/** Mulberry32: small, fast, and good enough for text. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  const pick = <T>(values: readonly T[]): T => {
    const value = values[int(0, values.length - 1)]
    if (value === undefined) throw new RangeError('no values')
    return value
  }
  const token = (length: number): string =>
    Array.from({ length }, () => TOKEN_LETTERS[int(0, TOKEN_LETTERS.length - 1)]).join('')
  const sentence = (words: number): string => {
    const text = Array.from({ length: words }, () => pick(WORDS)).join(' ')
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  }
  return { int, pick, token, sentence }
}
