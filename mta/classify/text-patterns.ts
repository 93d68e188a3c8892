/** Builds long regular expressions from lists of alternatives, so that a list has one family of texts on a line. */

/** A case-insensitive pattern that matches any of the alternatives. Each may contain several, separated by `|`. */
export function anyOf(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join('|'), 'i')
}

/** A non-capturing group of the alternatives, for use within a pattern. */
export function group(...alternatives: readonly string[]): string {
  return `(?:${alternatives.join('|')})`
}

/** Joins wrapped lines, because the patterns do not match across line ends. */
export function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, ' ')
}
