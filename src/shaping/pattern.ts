/**
 * Patterns of the shaping file over the text of replies. Whoever writes the file is trusted, the text is not: so only patterns are taken
 * whose time is bounded whatever is matched. No group is repeated, nothing looks around or back, at most two parts repeat, and of a text
 * only the beginning is looked at: that is a quarter of a million steps at worst, a millisecond.
 */

const LONGEST = 300
/** Parts that may repeat: `*`, `+`, `{n,m}`. */
const MOST_REPEATED = 2
const MOST_OPTIONAL = 8
/** Characters of a text that are looked at. */
const LOOKED_AT = 500

export type Pattern =
  | { readonly kind: 'pattern'; readonly regex: RegExp }
  | { readonly kind: 'refused'; readonly why: string }

/** An element and the quantifier behind it: an escape, a class, the end of a group, or one character. */
const ELEMENT = /(\\.|\[(?:\\.|[^\]\\])*\]|\)|\((?:\?:)?|[^()[\]\\])(\*|\+|\?|\{\d+(?:,\d*)?\})?[?+]?/gsu

/** Case is ignored. */
export function readPattern(source: string): Pattern {
  const why = objection(source)
  if (why !== null) return { kind: 'refused', why }
  try {
    return { kind: 'pattern', regex: new RegExp(source, 'iu') }
  } catch (error) {
    return { kind: 'refused', why: error instanceof Error ? error.message : String(error) }
  }
}

export function matches(regex: RegExp, text: string): boolean {
  return regex.test(text.slice(0, LOOKED_AT))
}

function objection(source: string): string | null {
  if (source.length === 0 || source.length > LONGEST) return `a pattern has 1 to ${LONGEST} characters`
  if (/\(\?(?!:)/.test(source)) return 'a pattern does not look ahead or behind and names no groups'
  if (/(?<!\\)(?:\\\\)*\\(?:[1-9]|k)/.test(source)) return 'a pattern does not refer back to a group'
  const elements = [...source.matchAll(ELEMENT)].map(([, element = '', quantifier = '']) => ({ element, quantifier }))
  const repeated = elements.filter(({ quantifier }) => quantifier !== '' && quantifier !== '?')
  if (repeated.some(({ element }) => element === ')')) return 'a group is not repeated'
  if (repeated.length > MOST_REPEATED) return `at most ${MOST_REPEATED} parts of a pattern repeat`
  const optional = elements.filter(({ quantifier }) => quantifier === '?')
  if (optional.length > MOST_OPTIONAL) return `at most ${MOST_OPTIONAL} parts of a pattern are optional`
  return null
}
