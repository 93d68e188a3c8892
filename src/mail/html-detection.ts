/**
 * Whether a text is HTML: it has at least one known HTML tag. `a < b`, `<john@example.com>` and `<3` are plain text.
 */
const TAGS =
  'a|abbr|address|article|b|blockquote|body|br|button|center|code|del|div|dl|em|font|footer|form|h[1-6]|head|header' +
  '|hr|html|i|img|input|ins|label|li|link|main|meta|nav|ol|p|pre|s|section|small|span|strike|strong|style|sub|sup|svg' +
  '|table|tbody|td|tfoot|th|thead|title|tr|u|ul|video'
const HTML = new RegExp(`<(?:!doctype\\s+html|/?(?:${TAGS})(?=[\\s/>])[^<>]*>)`, 'i')

export function isHtml(text: string): boolean {
  return HTML.test(text)
}
