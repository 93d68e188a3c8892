/**
 * Compiles a block document to HTML for mail: tables and inline styles, which every mail program draws. Text and
 * addresses are escaped. Variables stay as they are, unless they would not be escaped when they are rendered; other
 * braces become entities, so that no text of a block is read as a template.
 */
import type { Block, BlockDocument, DocumentStyle, Font } from './block-document.ts'
import { readSpans, safeUrl, type TextSpan } from './inline-text.ts'
import { readableOn } from './contrast.ts'

const FONT_FAMILIES: Readonly<Record<Font, string>> = {
  sans: 'Arial, Helvetica, sans-serif',
  serif: "Georgia, 'Times New Roman', serif",
  mono: "'Courier New', Courier, monospace",
}
export const HEADING_SIZES = [28, 22, 18] as const
/** `{{name}}`, `{{contact.name}}`, `{{default firstName "there"}}`: a path, or a helper with plain arguments. */
const VARIABLE = /\{\{\s*[A-Za-z_][\w.]*(?:\s+(?:[\w.]+|"[^"{}<>&]*"|'[^'{}<>&]*'))*\s*\}\}(?!\})/g
/** In attributes a quote would end the value. */
const PLAIN_VARIABLE = /\{\{\s*[A-Za-z_][\w.]*\s*\}\}(?!\})/g

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '{': '&#123;',
  '}': '&#125;',
}

export function fontFamily(font: Font): string {
  return FONT_FAMILIES[font]
}

export function escapeText(text: string, variable: RegExp = VARIABLE): string {
  let result = ''
  let at = 0
  for (const found of text.matchAll(variable)) {
    // the last two braces of `{{{name}}` would make it unescaped
    if (text[found.index - 1] === '{') continue
    result += escapeAll(text.slice(at, found.index)) + found[0]
    at = found.index + found[0].length
  }
  return result + escapeAll(text.slice(at))
}

function escapeAll(text: string): string {
  return text.replaceAll(/[&<>"'{}]/g, (char) => ENTITIES[char] ?? '')
}

function escapeAttribute(text: string): string {
  return escapeText(text, PLAIN_VARIABLE)
}

export function compileBlocks({ style, blocks }: BlockDocument): string {
  const rows = blocks.map((block) => compileRow(block, style, style.width)).join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
@media (max-width: 480px) {
  .column { display: block !important; width: 100% !important; }
}
</style>
</head>
<body style="margin: 0; padding: 0; background: ${style.background};">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background: ${style.background};">
<tr><td align="center" style="padding: 24px 12px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width: ${style.width}px; background: ${style.surface}; border-radius: 8px;">
${rows}
</table>
</td></tr>
</table>
</body>
</html>
`
}

function compileRow(block: Block, style: DocumentStyle, width: number): string {
  const background = block.background === null || block.type === 'button' ? '' : ` background: ${block.background};`
  const padding = block.type === 'spacer' ? '0' : `${block.padding}px 24px`
  const css = [
    `padding: ${padding};${background}`,
    `font-family: ${FONT_FAMILIES[style.font]}; font-size: 16px; line-height: 1.5;`,
    `color: ${block.type === 'button' ? style.text : (block.color ?? style.text)}; text-align: ${block.align};`,
  ].join(' ')
  return `<tr><td align="${block.align}" style="${css}">${COMPILERS[block.type](block, style, width - 48)}</td></tr>`
}

type Compile = (block: Block, style: DocumentStyle, width: number) => string

const COMPILERS: Readonly<Record<Block['type'], Compile>> = {
  heading: ({ level, text }, style) =>
    `<h${level} style="margin: 0; font-size: ${HEADING_SIZES[level - 1] ?? 18}px; line-height: 1.25;">${compileText(text, style)}</h${level}>`,
  text: ({ text }, style) =>
    paragraphsOf(text)
      .map((one, index) => `<p style="margin: ${index === 0 ? 0 : 12}px 0 0;">${compileText(one, style)}</p>`)
      .join('\n'),
  button: compileButton,
  image: compileImage,
  list: ({ text, isNumbered }, style) => {
    const tag = isNumbered ? 'ol' : 'ul'
    const items = itemsOf(text).map((item) => `<li style="margin: 0 0 4px;">${compileText(item, style)}</li>`)
    return `<${tag} style="margin: 0; padding: 0 0 0 24px; text-align: left;">${items.join('')}</${tag}>`
  },
  divider: ({ color }) =>
    `<hr style="border: 0; border-top: 1px solid ${color ?? '#d1d5db'}; margin: 0; height: 0; font-size: 0;">`,
  spacer: ({ height }) => `<div style="height: ${height}px; line-height: ${height}px; font-size: 1px;">&nbsp;</div>`,
  columns: compileColumns,
  footer: ({ text, alt, href, color }, style) => {
    const target = safeUrl(href) ?? '{{unsubscribeUrl}}'
    const look = `color: ${color ?? style.text}; text-decoration: underline;`
    const link = `<a href="${escapeAttribute(target)}" style="${look}">${escapeText(alt)}</a>`
    const lines = text === '' ? [] : [compileText(text, style)]
    return `<p style="margin: 0; font-size: 13px;">${[...lines, link].join('<br>')}</p>`
  },
}

function compileButton({ text, href, background, color }: Block, style: DocumentStyle): string {
  const fill = background ?? style.accent
  const look =
    `display: inline-block; padding: 12px 24px; border-radius: 6px; background: ${fill}; ` +
    `color: ${color ?? readableOn(fill)}; font-weight: bold; text-decoration: none;`
  const target = safeUrl(href)
  const content = compileLines(text)
  // a button that leads nowhere still shows what it is
  return target === null
    ? `<span style="${look}">${content}</span>`
    : `<a href="${escapeAttribute(target)}" style="${look}">${content}</a>`
}

function compileImage({ src, alt, href, width }: Block, _: DocumentStyle, room: number): string {
  const source = safeUrl(src)
  if (source === null) return ''
  const pixels = Math.round((room * width) / 100)
  const image =
    `<img src="${escapeAttribute(source)}" alt="${escapeAttribute(alt)}" width="${pixels}" ` +
    `style="max-width: 100%; height: auto; border: 0; display: inline-block;">`
  const target = safeUrl(href)
  return target === null ? image : `<a href="${escapeAttribute(target)}">${image}</a>`
}

function compileColumns({ columns, width }: Block, style: DocumentStyle, room: number): string {
  const cells = columns.map((blocks, index) => {
    const share = index === 0 ? width : 100 - width
    const inner = (room * share) / 100
    const rows = blocks.map((block) => compileRow(block, style, inner)).join('')
    const table = `<table role="presentation" width="100%" cellpadding="0" cellspacing="0">${rows}</table>`
    return `<td class="column" width="${share}%" valign="top">${blocks.length === 0 ? '&nbsp;' : table}</td>`
  })
  return `<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr>${cells.join('')}</tr></table>`
}

export function paragraphsOf(text: string): readonly string[] {
  return text.split(/\n{2,}/)
}

export function itemsOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

function compileLines(text: string): string {
  return escapeText(text).replaceAll('\n', '<br>')
}

function compileText(text: string, style: DocumentStyle): string {
  return readSpans(text)
    .map((span) => compileSpan(span, style))
    .join('')
}

function compileSpan({ text, isBold, isItalic, href }: TextSpan, { accent }: DocumentStyle): string {
  const italic = isItalic ? `<em>${compileLines(text)}</em>` : compileLines(text)
  const bold = isBold ? `<strong>${italic}</strong>` : italic
  if (href === null) return bold
  return `<a href="${escapeAttribute(href)}" style="color: ${accent}; text-decoration: underline;">${bold}</a>`
}
