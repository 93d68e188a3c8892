/**
 * HTML with its links wrapped and the open pixel put in: only href values of a and area that are http or https change, and one element is
 * put in where the body ends; every other character stays as it was. Links with data-no-track and our own are left alone. What is broken
 * is not mended: where it is not sure what a reader would see, nothing is touched (html-scan.ts).
 */
import { openedBy } from './href.ts'
import { scanHtml } from './html-scan.ts'

export interface Marks {
  /** Address of the open pixel; null = none. */
  readonly pixel: string | null
  /** What to write in place of a URL: letters that need no quotes; null leaves that link alone. Not there: links are left alone. */
  readonly link: ((url: string) => string | null) | null
}

export interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Longer texts are not looked at: they would hold up others. No mailbox shows so much. */
const LONGEST = 1024 * 1024

export function trackHtml(html: string, marks: Marks): string {
  return applyEdits(html, editsOf(html, marks))
}

/** In order, apart from each other. `readValue` makes text of an attribute, where `html` has one character for each octet; null: leave it. */
export function editsOf(
  html: string,
  marks: Marks,
  readValue: (value: string) => string | null = (value) => value,
): Edit[] {
  if (html.length > LONGEST || (marks.pixel === null && marks.link === null)) return []
  const { links, end } = scanHtml(html)
  const edits: Edit[] = []
  for (const { from, to, isExempt } of marks.link === null ? [] : links) {
    const value = isExempt ? null : readValue(html.slice(from, to))
    const url = value === null ? null : openedBy(value)
    const text = url === null ? null : (marks.link?.(url) ?? null)
    if (text !== null) edits.push({ from, to, text })
  }
  if (marks.pixel !== null) edits.push({ from: end, to: end, text: pixelOf(marks.pixel) })
  return edits.toSorted((one, other) => one.from - other.from)
}

export function applyEdits(text: string, edits: readonly Edit[]): string {
  let out = ''
  let at = 0
  for (const edit of edits) {
    out += text.slice(at, edit.from) + edit.text
    at = edit.to
  }
  return out + text.slice(at)
}

function pixelOf(address: string): string {
  return `<img src="${address}" width="1" height="1" alt="" style="display:block;border:0;width:1px;height:1px">`
}
