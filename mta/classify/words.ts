/** Families of words, as patterns that are written on several lines. */

/** Any of these, whatever their case. */
export function words(...families: readonly string[]): RegExp {
  return new RegExp(families.join('|'), 'i')
}
