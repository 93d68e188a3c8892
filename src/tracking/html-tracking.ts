/**
 * Wraps the links of an HTML body and inserts the open pixel. Only http and https href values of `a` and `area` change,
 * and one element is inserted where the body ends; all other characters stay as they are. Links with data-no-track and
 * Mailstead's own links are not wrapped. Broken HTML is not repaired: if it is unclear what a reader sees, nothing
 * changes (html-scan.ts). In a short mail without images the pixel would be the only image, which content filters count
 * against the mail (SpamAssassin's HTML_IMAGE_ONLY: up to 2.8 points of 5); there it is added only on request.
 */
import { resolveHref } from './href.ts'
import { scanHtml } from './html-scan.ts'

export interface TrackingMarkup {
  /** URL of the open pixel; null = none. */
  readonly pixel: string | null
  /** Nobody asked for the pixel: leave it out of a short mail without images. */
  readonly isPixelOptional?: boolean
  /** Returns the replacement of a URL, which needs no quotes; null keeps that link. Without it, no link changes. */
  readonly link: ((url: string) => string | null) | null
}

export interface HtmlEdit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Longer bodies are not tracked: they would block others. No mailbox displays so much. */
const MAX_LENGTH = 1024 * 1024
/** Characters of HTML, with tags and pixel, up to which SpamAssassin (20_html_tests.cf) counts a mail as short. */
const MAX_SHORT = 3200

export function trackHtml(html: string, markup: TrackingMarkup): string {
  return applyEdits(html, editsOf(html, markup))
}

/**
 * Ordered, non-overlapping edits. `readValue` decodes an attribute if `html` has one character per octet; null keeps
 * it.
 */
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
  const pixel = markup.pixel === null ? null : { from: end, to: end, text: pixelOf(markup.pixel) }
  if (pixel !== null && !(markup.isPixelOptional === true && wouldDominate(html, [...edits, pixel]))) edits.push(pixel)
  return edits.toSorted((one, other) => one.from - other.from)
}

/** Whether the pixel among these edits would be the only image of a short mail. */
function wouldDominate(html: string, edits: readonly HtmlEdit[]): boolean {
  const length = edits.reduce((sum, { from, to, text }) => sum + text.length - (to - from), html.length)
  return length <= MAX_SHORT && !/<img[\s/]/i.test(html)
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
