/**
 * The text of a block: `**bold**`, `*italic*` and `[a link](https://…)`, and variables in braces. It is read to spans,
 * which the canvas shows and the compiler writes; nothing in it is ever HTML.
 */
export interface TextSpan {
  readonly text: string
  readonly isBold: boolean
  readonly isItalic: boolean
  /** Null: no link. */
  readonly href: string | null
}

type Marks = Omit<TextSpan, 'text'>

const PLAIN: Marks = { isBold: false, isItalic: false, href: null }
const MARK = /\[([^\][]+)\]\(([^()\s]+)\)|\*\*([^*]+(?:\*[^*]+\*[^*]*)*)\*\*|\*([^*]+)\*/

/** Nested at most three deep: a link with bold and italic in it. */
export function readSpans(text: string, marks: Marks = PLAIN): readonly TextSpan[] {
  const spans: TextSpan[] = []
  let rest = text
  for (let found = MARK.exec(rest); found !== null; found = MARK.exec(rest)) {
    const [whole, label, href, bold, italic] = found
    if (found.index > 0) spans.push({ ...marks, text: rest.slice(0, found.index) })
    if (label !== undefined) spans.push(...readSpans(label, { ...marks, href: safeUrl(href ?? '') }))
    else if (bold !== undefined) spans.push(...readSpans(bold, { ...marks, isBold: true }))
    else spans.push(...readSpans(italic ?? '', { ...marks, isItalic: true }))
    rest = rest.slice(found.index + whole.length)
  }
  if (rest !== '') spans.push({ ...marks, text: rest })
  return spans
}

/** Null unless it is a web, mail or telephone address, or a variable stands at its beginning. */
export function safeUrl(url: string): string | null {
  const trimmed = url.trim()
  if (/^\{\{\s*[\w.]+\s*\}\}/.test(trimmed)) return trimmed
  return /^(?:https?:\/\/[^\s]|mailto:[^\s]|tel:[+\d])/i.test(trimmed) ? trimmed : null
}

/** Puts a mark around the selected part of a text, or removes it. */
export function toggleMark(text: string, from: number, to: number, mark: '**' | '*'): TextChange {
  const selected = text.slice(from, to)
  const size = mark.length
  const isMarked = text.slice(from - size, from) === mark && text.slice(to, to + size) === mark
  if (isMarked)
    return { text: text.slice(0, from - size) + selected + text.slice(to + size), from: from - size, to: to - size }
  return { text: text.slice(0, from) + mark + selected + mark + text.slice(to), from: from + size, to: to + size }
}

export function insertLink(text: string, from: number, to: number, link: { label: string; href: string }): TextChange {
  const inserted = `[${link.label}](${link.href})`
  return { text: text.slice(0, from) + inserted + text.slice(to), from, to: from + inserted.length }
}

export interface TextChange {
  readonly text: string
  readonly from: number
  readonly to: number
}
