/**
 * Patterns of the shaping file over the text of replies. The operator who writes the file is trusted, the text is not: no text may keep a
 * process busy. So a pattern is matched in linear time (`linear-pattern.ts`), and only the beginning of a text is examined.
 * Measured: 1 to 7 µs for a pattern of config/shaping.yaml and a reply of 200 characters, 3 ms for the worst pattern and text.
 */
import { compileTokens, readCharacters, readTokens, type Characters, type PatternToken } from './linear-pattern.ts'

const MAX_PATTERN_LENGTH = 300
/** Characters of a text that are examined. */
const EXAMINED = 500

export interface ReplyPattern {
  readonly source: string
  /** Finds the pattern anywhere in what is examined. Case is ignored. */
  matches(text: Characters): boolean
}

export type ReadPattern =
  | { readonly kind: 'pattern'; readonly pattern: ReplyPattern }
  | { readonly kind: 'refused'; readonly why: string }

export function readPattern(source: string): ReadPattern {
  const why = findObjection(source)
  return why === null ? { kind: 'pattern', pattern: compilePattern(source) } : { kind: 'refused', why }
}

/** @param source a pattern that was accepted, or one of its alternatives. */
export function compilePattern(source: string): ReplyPattern {
  return { source, matches: compileTokens(readTokens(source)) }
}

/** The beginning of a text, to be matched with any number of patterns. */
export function examine(text: string): Characters {
  return readCharacters(text.slice(0, EXAMINED))
}

const OBJECTIONS: readonly (readonly [applies: (token: PatternToken) => boolean, why: string])[] = [
  [
    ({ element, quantifier }) => element === '(' && quantifier !== '',
    'a pattern must not look ahead or behind, name a group or set flags',
  ],
  [({ element }) => /^\\[1-9k]$/.test(element), 'a pattern must not refer back to a group'],
  [
    ({ element, quantifier }) => element === ')' && quantifier !== '' && quantifier !== '?',
    'a pattern must not repeat a group',
  ],
]

function findObjection(source: string): string | null {
  if (source.length === 0 || source.length > MAX_PATTERN_LENGTH)
    return `a pattern has 1 to ${MAX_PATTERN_LENGTH} characters`
  const tokens = readTokens(source)
  const objection = OBJECTIONS.find(([applies]) => tokens.some(applies))
  if (objection !== undefined) return objection[1]
  try {
    void new RegExp(source, 'iu')
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
