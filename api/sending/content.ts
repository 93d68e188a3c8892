/**
 * What a message says: `body` (HTML or text, detected or told by `is_html`), `html`, `text`, folded into one HTML and one text part.
 * HTML is a text with at least one tag that HTML knows, in its place as a tag; `a < b`, `<john@example.com>` and `<3` are text.
 */
const TAGS =
  'a|abbr|address|article|b|blockquote|body|br|button|center|code|del|div|dl|em|font|footer|form|h[1-6]|head|header|hr|html|i' +
  '|img|input|ins|label|li|link|main|meta|nav|ol|p|pre|s|section|small|span|strike|strong|style|sub|sup|svg|table|tbody|td|tfoot' +
  '|th|thead|title|tr|u|ul|video'
const HTML = new RegExp(`<(?:!doctype\\s+html|/?(?:${TAGS})(?=[\\s/>])[^<>]*>)`, 'i')

export interface Content {
  readonly html: string | null
  readonly text: string | null
}

export function isHtml(text: string): boolean {
  return HTML.test(text)
}

/** A body by its kind. `told` is what the client says of it. */
export function divide(body: string, told: boolean | null): Content {
  return (told ?? isHtml(body)) ? { html: body, text: null } : { html: null, text: body }
}

export type FoldedContent =
  { readonly ok: true; readonly content: Content } | { readonly ok: false; readonly path: 'html' | 'text'; readonly reason: string }

/** `body` fills the part of its kind; where `html` or `text` says something else for the same part, the message is contradictory. */
export function foldContent(given: Content & { readonly body: string | null; readonly isHtml: boolean | null }): FoldedContent {
  const divided = given.body === null ? { html: null, text: null } : divide(given.body, given.isHtml)
  for (const part of ['html', 'text'] as const)
    if (divided[part] !== null && given[part] !== null && divided[part] !== given[part])
      return { ok: false, path: part, reason: `contradicts body, which is ${part} too` }
  return { ok: true, content: { html: divided.html ?? given.html, text: divided.text ?? given.text } }
}
