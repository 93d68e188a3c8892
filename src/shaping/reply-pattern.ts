/**
 * Patterns of the shaping file that match the text of replies. The operator who writes the file is trusted, the text is
 * not: no text may block a process. So patterns match in linear time (`linear-pattern.ts`), and only the start of a
 * text is examined. Measured: 1 to 7 µs for a pattern of config/shaping.yaml and a reply of 200 characters, 3 ms for
 * the worst pattern and text.
 */
import { compileTokens, readCharacters, readTokens, type TextCharacters, type PatternToken } from './linear-pattern.ts'

const MAX_PATTERN_LENGTH = 300
/** Number of characters of a text that are examined. */
const MAX_EXAMINED = 500

export interface ReplyPattern {
  readonly source: string
  /** True if the pattern occurs anywhere in the examined text. Ignores case. */
  matches(text: TextCharacters): boolean
}

export type PatternResult =
  | { readonly kind: 'pattern'; readonly pattern: ReplyPattern }
  | { readonly kind: 'refused'; readonly reason: string }

export function readPattern(source: string): PatternResult {
  const reason = findRestriction(source)
  return reason === null ? { kind: 'pattern', pattern: compilePattern(source) } : { kind: 'refused', reason }
}

/** @param source a valid pattern, or one of its alternatives. */
export function compilePattern(source: string): ReplyPattern {
  return { source, matches: compileTokens(readTokens(source)) }
}

/** The part of a text that is examined, to be matched with any number of patterns. */
export function examinedPart(text: string): TextCharacters {
  return readCharacters(text.slice(0, MAX_EXAMINED))
}

const RESTRICTIONS: readonly (readonly [applies: (token: PatternToken) => boolean, why: string])[] = [
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

function findRestriction(source: string): string | null {
  if (source.length === 0 || source.length > MAX_PATTERN_LENGTH)
    return `a pattern has 1 to ${MAX_PATTERN_LENGTH} characters`
  const tokens = readTokens(source)
  const restriction = RESTRICTIONS.find(([applies]) => tokens.some(applies))
  if (restriction !== undefined) return restriction[1]
  try {
    void new RegExp(source, 'iu')
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
