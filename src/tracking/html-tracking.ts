/**
 * HTML with its links wrapped and the open pixel put in: only href values of a and area that are http or https change, and one element is
 * put in where the body ends; every other character stays as it was. Links with data-no-track and our own are left alone. What is broken
 * is not mended: where it is not sure what a reader would see, nothing is touched (html-scan.ts).
 */
import { resolveHref } from './href.ts'
import { scanHtml } from './html-scan.ts'

export interface TrackingMarkup {
  /** Address of the open pixel; null = none. */
  readonly pixel: string | null
  /** What to write in place of a URL: letters that need no quotes; null leaves that link alone. Not there: links are left alone. */
  readonly link: ((url: string) => string | null) | null
}

export interface HtmlEdit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Longer texts are not looked at: they would hold up others. No mailbox shows so much. */
const MAX_LENGTH = 1024 * 1024

export function trackHtml(html: string, markup: TrackingMarkup): string {
  return applyEdits(html, editsOf(html, markup))
}

/** In order, apart from each other. `readValue` makes text of an attribute, where `html` has one character for each octet; null: leave it. */
export function editsOf(
  html: string,
  markup: TrackingMarkup,
  readValue: (value: string) => string | null = (value) => value,
): HtmlEdit[] {
  if (html.length > MAX_LENGTH || (markup.pixel === null && markup.link === null)) return []
  const { links, end } = scanHtml(html)
  const edits: HtmlEdit[] = []
  for (const { from, to, isExempt } of markup.link === null ? [] : links) {
    const value = isExempt ? null : readValue(html.slice(from, to))
    const url = value === null ? null : resolveHref(value)
    const text = url === null ? null : (markup.link?.(url) ?? null)
    if (text !== null) edits.push({ from, to, text })
  }
  if (markup.pixel !== null) edits.push({ from: end, to: end, text: pixelOf(markup.pixel) })
  return edits.toSorted((one, other) => one.from - other.from)
}

export function applyEdits(text: string, edits: readonly HtmlEdit[]): string {
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
