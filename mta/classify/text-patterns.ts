/** Families of words, as patterns that are written on several lines. */

/** Any of these, whatever their case. */
export function anyOf(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join('|'), 'i')
}

/** A text as its writer meant it before it was wrapped: families of words know no line ends. */
export function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, ' ')
}
