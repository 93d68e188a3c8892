/**
 * Finds links in HTML by their offsets, without building a tree: the states of the HTML standard's tokenizer that
 * decide what is a tag and an attribute (13.2.5). One pass, linear time, never throws. In doubt a link is not found: in
 * comments, CDATA, style, script and similar elements, and after a tag that never ends. Only Outlook's conditional
 * comments (`<!--[if mso]> … <![endif]-->`) are scanned, because Outlook displays their content.
 */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The value of the first href of an `a` or `area` element, without quotes. */
export interface Link extends Span {
  /** The element has the attribute data-no-track. */
  readonly isExempt: boolean
}

export interface Scan {
  readonly links: readonly Link[]
  /** Offset at which the open pixel can be inserted. */
  readonly end: number
}

interface Attribute extends Span {
  readonly name: string
}

interface Tag {
  readonly name: string
  readonly isEnd: boolean
  readonly attributes: readonly Attribute[]
  readonly end: number
}

/** Elements whose content is text up to their end tag. */
const RAW_TEXT: ReadonlySet<string> = new Set([
  'style',
  'script',
  'xmp',
  'iframe',
  'noembed',
  'noframes',
  'textarea',
  'title',
])
const LINKS: ReadonlySet<string> = new Set(['a', 'area'])
/** Attributes read of one tag. */
const MAX_ATTRIBUTES = 200

export function scanHtml(html: string): Scan {
  const links: Link[] = []
  let bodyEnd = -1
  const onTag = (tag: Tag, from: number): void => {
    if (tag.isEnd) {
      if (tag.name === 'body' || (tag.name === 'html' && bodyEnd < 0)) bodyEnd = from
      return
    }
    const link = LINKS.has(tag.name) ? linkOf(tag) : null
    if (link !== null) links.push(link)
  }
  const stopped = scanRegion(html, { from: 0, to: html.length }, onTag)
  return { links, end: bodyEnd >= 0 ? bodyEnd : stopped }
}

type OnTag = (tag: Tag, from: number) => void

/** Returns the offset where it stopped: the end, or the start of a construct that never ends. */
function scanRegion(html: string, { from, to }: Span, onTag: OnTag): number {
  let at = from
  for (;;) {
    const open = html.indexOf('<', at)
    if (open < 0 || open >= to) return to
    const next = scanConstruct(html, { from: open, to }, onTag)
    if (next === null) return open
    at = next
  }
}

/** The offset after the construct that begins with `<` at `from`; null if it does not end before `to`. */
function scanConstruct(html: string, region: Span, onTag: OnTag): number | null {
  const { from, to } = region
  const second = html.charAt(from + 1)
  if (second === '!') return scanDeclaration(html, region, onTag)
  if (second === '?') return endWithin(html.indexOf('>', from), to, 1)
  const isEnd = second === '/'
  const first = isEnd ? html.charAt(from + 2) : second
  if (!/[a-z]/i.test(first)) return isEnd ? endWithin(html.indexOf('>', from), to, 1) : from + 1
  const tag = readTag(html, from + (isEnd ? 2 : 1), to)
  if (tag === null) return null
  onTag({ ...tag, isEnd }, from)
  return isEnd ? tag.end : skipRawText(html, tag, to)
}

function endWithin(found: number, to: number, length: number): number | null {
  return found < 0 || found + length > to ? null : found + length
}

/** Comments, CDATA, doctype. */
function scanDeclaration(html: string, { from, to }: Span, onTag: OnTag): number | null {
  if (html.startsWith('<!--', from)) return scanComment(html, { from, to }, onTag)
  // if it does not end, nothing after it is certain
  if (html.startsWith('<![CDATA[', from)) return endWithin(html.indexOf(']]>', from), to, 3)
  return endWithin(html.indexOf('>', from), to, 1)
}

const COMMENT_END = /--!?>/g
const OUTLOOK = /^<!--\[if [^\]>]{1,200}\]>/i

function scanComment(html: string, { from, to }: Span, onTag: OnTag): number | null {
  const short = /^<!--(?:-?>)/.exec(html.slice(from, from + 6))
  if (short !== null) return from + short[0].length
  COMMENT_END.lastIndex = from + 4
  const found = COMMENT_END.exec(html)
  const end = found === null ? null : endWithin(found.index, to, found[0].length)
  if (found === null || end === null) return null
  const outlook = OUTLOOK.exec(html.slice(from, from + 220))
  // an end tag in the comment does not end the body
  if (outlook !== null)
    scanRegion(html, { from: from + outlook[0].length, to: found.index }, (tag, at) => {
      if (!tag.isEnd) onTag(tag, at)
    })
  return end
}

/** `at` is the first letter of the name. Null if the tag does not end. */
function readTag(html: string, at: number, to: number): Omit<Tag, 'isEnd'> | null {
  let i = at
  while (i < to && !isSpace(html, i) && html[i] !== '/' && html[i] !== '>') i++
  const name = html.slice(at, i).toLowerCase()
  const attributes: Attribute[] = []
  for (;;) {
    while (i < to && (isSpace(html, i) || html[i] === '/')) i++
    if (i >= to) return null
    if (html[i] === '>') return { name, attributes, end: i + 1 }
    const read = readAttribute(html, i, to)
    if (read === null) return null
    if (attributes.length < MAX_ATTRIBUTES) attributes.push(read.attribute)
    i = read.next
  }
}

function readAttribute(
  html: string,
  at: number,
  to: number,
): { readonly attribute: Attribute; readonly next: number } | null {
  let i = at + 1 // the first character is part of the name, even `=`
  while (i < to && !isSpace(html, i) && html[i] !== '/' && html[i] !== '>' && html[i] !== '=') i++
  const name = html.slice(at, i).toLowerCase()
  let value = i
  while (value < to && isSpace(html, value)) value++
  if (html[value] !== '=' || value >= to) return { attribute: { name, from: i, to: i }, next: i }
  value++
  while (value < to && isSpace(html, value)) value++
  const quote = html[value]
  if (quote === '"' || quote === "'") {
    const end = html.indexOf(quote, value + 1)
    return end < 0 || end >= to ? null : { attribute: { name, from: value + 1, to: end }, next: end + 1 }
  }
  let end = value
  while (end < to && !isSpace(html, end) && html[end] !== '>') end++
  return { attribute: { name, from: value, to: end }, next: end }
}

function isSpace(html: string, i: number): boolean {
  const c = html.charCodeAt(i)
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09 || c === 0x0c
}

/** The offset after the content of a raw text element. */
function skipRawText(html: string, { name, end }: Omit<Tag, 'isEnd'>, to: number): number | null {
  if (name === 'plaintext') return null
  if (!RAW_TEXT.has(name)) return end
  const closing = new RegExp(`</${name}(?=[\\s/>])`, 'gi')
  closing.lastIndex = end
  const found = closing.exec(html)
  if (found === null || found.index >= to) return null
  // script double escaped state: this end tag does not end the outer script
  return name === 'script' && isDoubleEscaped(html.slice(end, found.index)) ? null : found.index
}

function isDoubleEscaped(script: string): boolean {
  const comment = script.indexOf('<!--')
  return comment >= 0 && /<script/i.test(script.slice(comment))
}

function linkOf({ attributes }: Tag): Link | null {
  const href = attributes.find(({ name }) => name === 'href')
  if (href === undefined || href.from === href.to) return null
  return { from: href.from, to: href.to, isExempt: attributes.some(({ name }) => name === 'data-no-track') }
}
