/**
 * Generates the text part of a message that has only HTML: the visible text, links as `text [address]`, lists with
 * bullets, table rows as lines.
 *
 * Processes tokens in one pass without a tree or recursion, in linear time, so that depth, missing end tags and size
 * are harmless. Hidden elements are included (a preheader is one); comments, and with them conditional content for
 * Outlook, are not. Pure; never throws.
 */
import { Tokenizer } from 'htmlparser2'
import type { TokenizerCallbacks } from 'htmlparser2'
import { TextFlow } from './text-flow.ts'

/** The text of `html`: LF between lines, wrapped at 78 columns, no line end at the end; '' when there is no text. */
export function textFromHtml(html: string): string {
  const reader = new Reader(html)
  const tokenizer = new Tokenizer({ decodeEntities: true }, reader)
  tokenizer.write(html)
  tokenizer.end()
  return reader.finish()
}

type Step = (reader: Reader) => void
interface Element {
  readonly open?: Step
  readonly close?: Step
}

const line: Step = (reader) => reader.flow.separate(1)
const paragraph: Step = (reader) => reader.flow.separate(2)
const row: Element = { open: line, close: line }
const block: Element = { open: paragraph, close: paragraph }
const cell: Element = { open: (reader) => reader.flow.nextCell() }
const skipped: Element = { open: (reader) => reader.skip() }
const closeList: Step = (reader) => reader.flow.closeList()
const list = (isOrdered: boolean): Element => ({ open: (reader) => reader.flow.openList(isOrdered), close: closeList })

/** Elements with a meaning for the text. Any other element is ignored, and its text is written. */
const ELEMENTS: ReadonlyMap<string, Element> = new Map<string, Element>([
  ...[
    'address',
    'article',
    'aside',
    'body',
    'caption',
    'center',
    'dd',
    'div',
    'dt',
    'figcaption',
    'footer',
    'form',
    'header',
    'main',
    'nav',
    'section',
    'tbody',
    'tfoot',
    'thead',
    'tr',
  ].map((name): [string, Element] => [name, row]),
  ...['dl', 'fieldset', 'figure', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'table'].map((name): [string, Element] => [
    name,
    block,
  ]),
  ...['iframe', 'noembed', 'noframes', 'script', 'style', 'svg', 'template', 'title'].map((name): [string, Element] => [
    name,
    skipped,
  ]),
  ['td', cell],
  ['th', cell],
  ['ul', list(false)],
  ['ol', list(true)],
  ['li', { open: (reader) => reader.flow.openItem(), close: line }],
  ['blockquote', { open: (reader) => reader.flow.openQuote(), close: (reader) => reader.flow.closeQuote() }],
  ['br', { open: (reader) => reader.flow.newLine() }],
  ['hr', { open: (reader) => reader.writeRule() }],
  ['pre', { open: (reader) => reader.openPre(), close: (reader) => reader.closePre() }],
  ['img', { open: (reader) => reader.writeAlt() }],
  ['a', { open: (reader) => reader.openLink(), close: (reader) => reader.closeLink() }],
  ['head', { open: (reader) => reader.openHead(), close: (reader) => reader.closeHead() }],
])
/** The elements of a head; any other element means that the end tag of the head is missing. */
const HEAD_ELEMENTS: ReadonlySet<string> = new Set([
  'base',
  'link',
  'meta',
  'noscript',
  'script',
  'style',
  'template',
  'title',
  'xml',
])
/** The attributes that are read. */
const ATTRIBUTES: ReadonlySet<string> = new Set(['href', 'alt'])
/** Links without a meaning outside of a browser. */
const NO_TARGET = /^(?:#|javascript:|data:|cid:|about:)/i
const BLANK = /^\s*$/
/** The part of a link's text that is compared with its address. */
const MAX_COMPARED = 2000

/** Receives the tokens of one document. */
class Reader implements TokenizerCallbacks {
  readonly flow = new TextFlow()
  readonly #html: string
  #tag = ''
  #attribute = ''
  readonly #values = { href: '', alt: '' }
  /** The element whose content is skipped, and how deeply it is nested in itself. */
  #skipped = ''
  #skippedDepth = 0
  #isInHead = false
  #pres = 0
  #link: { readonly href: string; text: string } | null = null

  constructor(html: string) {
    this.#html = html
  }

  finish(): string {
    this.closeLink()
    return this.flow.finish()
  }

  ontext(start: number, end: number): void {
    this.#write(this.#html.slice(start, end))
  }

  ontextentity(codepoint: number): void {
    this.#write(String.fromCodePoint(codepoint))
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#html.slice(start, end).toLowerCase()
    this.#values.href = ''
    this.#values.alt = ''
  }

  onattribname(start: number, end: number): void {
    const length = end - start
    const name = length < 3 || length > 4 ? '' : this.#html.slice(start, end).toLowerCase()
    this.#attribute = ATTRIBUTES.has(name) ? name : ''
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute !== '') this.#addValue(this.#html.slice(start, end))
  }

  onattribentity(codepoint: number): void {
    if (this.#attribute !== '') this.#addValue(String.fromCodePoint(codepoint))
  }

  onopentagend(): void {
    const name = this.#tag
    if (this.#skipped !== '') {
      if (name === this.#skipped) this.#skippedDepth++
      return
    }
    if (this.#isInHead && !HEAD_ELEMENTS.has(name)) this.#isInHead = false
    ELEMENTS.get(name)?.open?.(this)
  }

  onselfclosingtag(): void {
    this.onopentagend()
  }

  onclosetag(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase()
    if (this.#skipped === '') ELEMENTS.get(name)?.close?.(this)
    else if (name === this.#skipped && --this.#skippedDepth === 0) this.#skipped = ''
  }

  onattribend(): void {
    /* the value is already complete */
  }
  oncdata(): void {
    /* outside of SVG and MathML it is a comment */
  }
  oncomment(): void {
    /* not for readers */
  }
  ondeclaration(): void {
    /* not for readers */
  }
  onprocessinginstruction(): void {
    /* not for readers */
  }
  onend(): void {
    /* the caller calls finish() */
  }

  skip(): void {
    this.#skipped = this.#tag
    this.#skippedDepth = 1
  }

  openHead(): void {
    this.#isInHead = true
  }

  closeHead(): void {
    this.#isInHead = false
  }

  openPre(): void {
    this.flow.separate(2)
    this.#pres++
  }

  closePre(): void {
    this.flow.separate(2)
    this.#pres = Math.max(0, this.#pres - 1)
  }

  writeRule(): void {
    this.flow.separate(1)
    this.flow.writeWord('-'.repeat(40))
    this.flow.separate(1)
  }

  writeAlt(): void {
    this.#write(this.#values.alt)
  }

  openLink(): void {
    this.closeLink() // links do not nest: the end tag is missing
    const href = this.#values.href.replaceAll(/\s+/g, '')
    this.#link = { href: NO_TARGET.test(href) ? '' : href, text: '' }
  }

  closeLink(): void {
    const link = this.#link
    this.#link = null
    if (link === null || link.href === '' || normaliseLink(link.text) === normaliseLink(link.href)) return
    this.flow.writeWord(`[${link.href}]`)
  }

  #addValue(text: string): void {
    if (this.#attribute === 'alt') this.#values.alt += text
    else this.#values.href += text
  }

  #write(text: string): void {
    if (this.#skipped !== '') return
    if (this.#isInHead) {
      if (BLANK.test(text)) return
      this.#isInHead = false // a head has no text: its end tag is missing
    }
    if (this.#link !== null && this.#link.text.length < MAX_COMPARED) this.#link.text += text
    if (this.#pres > 0) this.flow.writeAsIs(text)
    else this.flow.write(text)
  }
}

/** A link without its scheme and final slash, to detect whether the text of the link already shows it. */
function normaliseLink(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:|tel:)/, '')
    .replace(/\/$/, '')
}
