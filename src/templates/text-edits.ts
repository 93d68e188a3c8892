/**
 * Edits a text by offset, and replaces parts of it with placeholders while a tool that does not understand these parts
 * works on the rest.
 */

export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Applies edits, which must be sorted and must not overlap. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let result = ''
  let from = 0
  for (const { start, end, text: put } of edits) {
    result += text.slice(from, start) + put
    from = end
  }
  return result + text.slice(from)
}

export interface Placeholders {
  /**
   * Returns a placeholder for `piece`: letters and digits that form a CSS identifier and an HTML word and do not occur
   * in the source.
   */
  create(piece: string): string
  /** Replaces placeholders with their pieces, also where a tool treated one as an attribute without a value. */
  restore(text: string): string
  /** Indexes (in creation order) of the placeholders that are missing from `text`. */
  findMissing(text: string): ReadonlySet<number>
}

export function createPlaceholders(source: string): Placeholders {
  let prefix = 'hbs'
  while (source.includes(prefix)) prefix += 'q'
  const pieces: string[] = []
  const pattern = new RegExp(`${prefix}(\\d+)z(?:="")?`, 'g')
  return {
    create: (piece) => `${prefix}${pieces.push(piece) - 1}z`,
    restore: (text) => text.replaceAll(pattern, (_, n: string) => pieces[Number(n)] ?? ''),
    findMissing(text) {
      const present = new Set([...text.matchAll(pattern)].map(([, n]) => Number(n)))
      return new Set([...pieces.keys()].filter((n) => !present.has(n)))
    },
  }
}
