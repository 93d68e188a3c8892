/** Families of words, as patterns that are written on several lines. */

/** Any of these, whatever their case. */
export function words(...families: readonly string[]): RegExp {
  return new RegExp(families.join('|'), 'i')
}

/** A text as its writer meant it before it was wrapped: families of words know no line ends. */
export function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
