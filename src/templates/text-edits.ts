/** Changes of a text by offset, and names that stand for pieces of it while a tool that would not understand them works on the rest. */

export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** `edits` in order, apart from each other. */
export function write(text: string, edits: readonly Edit[]): string {
  let written = ''
  let from = 0
  for (const { start, end, text: put } of edits) {
    written += text.slice(from, start) + put
    from = end
  }
  return written + text.slice(from)
}

export interface Placeholders {
  /** A name for `piece`: letters and digits, an identifier in CSS, a word in HTML, and nowhere in the source. */
  keep(piece: string): string
  /** Puts the pieces in again, also where a tool took a name for an attribute without a value. */
  restore(text: string): string
  /** The pieces whose names are not in `text`, by the order in which they were kept. */
  lostIn(text: string): ReadonlySet<number>
}

export function createPlaceholders(source: string): Placeholders {
  let prefix = 'hbs'
  while (source.includes(prefix)) prefix += 'q'
  const kept: string[] = []
  const pattern = new RegExp(`${prefix}(\\d+)z(?:="")?`, 'g')
  return {
    keep: (piece) => `${prefix}${kept.push(piece) - 1}z`,
    restore: (text) => text.replaceAll(pattern, (_, n: string) => kept[Number(n)] ?? ''),
    lostIn(text) {
      const there = new Set([...text.matchAll(pattern)].map(([, n]) => Number(n)))
      return new Set([...kept.keys()].filter((n) => !there.has(n)))
    },
  }
}
