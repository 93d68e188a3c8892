/**
 * Generates the text part of a message that has only HTML: the visible text, links as `text [address]`, lists with
 * bullets, table rows as lines.
 *
 * Processes the tokens of html-scanner.ts in one pass without a tree or recursion, in linear time, so that depth,
 * missing end tags and size are harmless. It is on the path of each outbound message with only HTML, so it is built
 * for speed; html-to-text is the second opinion in its tests. Hidden elements are included (a preheader is one);
 * comments, and with them conditional content for Outlook, are not. Pure; never throws.
 */
import { decodeAttribute, decodeText } from './html-entities.ts'
import { HtmlScanner } from './html-scanner.ts'
import { TextFlow } from './text-flow.ts'

/** The text of `html`: LF between lines, wrapped at 78 columns, no line end at the end; '' when there is no text. */
export function textFromHtml(html: string): string {
  return new Reader(html).read()
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
/** Links without a meaning outside of a browser. */
const NO_TARGET = /^(?:#|javascript:|data:|cid:|about:)/i
const BLANK = /^\s*$/
const SPACES = /\s/
/** The part of a link's text that is compared with its address. */
const MAX_COMPARED = 2000

/** Reads one document. */
class Reader {
  readonly flow = new TextFlow()
  readonly #html: string
  readonly #scanner: HtmlScanner
  /** The element whose content is skipped, and how deeply it is nested in itself. */
  #skipped = ''
  #skippedDepth = 0
  #isInHead = false
  #pres = 0
  /** Where the next `&` is. */
  #nextReference = -1
  #link: { readonly href: string; text: string } | null = null

  constructor(html: string) {
    this.#html = html
    this.#scanner = new HtmlScanner(html)
  }

  read(): string {
    const scanner = this.#scanner
    for (let kind = scanner.next(); kind !== 'end'; kind = scanner.next()) {
      if (kind === 'open') this.#open(scanner.name)
      else if (kind === 'close') this.#close(scanner.name)
      else if (this.#skipped === '') this.#writeText(scanner.start, scanner.end)
    }
    this.closeLink()
    return this.flow.finish()
  }

  #open(name: string): void {
    if (this.#skipped !== '') {
      if (name === this.#skipped) this.#skippedDepth++
      return
    }
    if (this.#isInHead && !HEAD_ELEMENTS.has(name)) this.#isInHead = false
    ELEMENTS.get(name)?.open?.(this)
  }

  #close(name: string): void {
    if (this.#skipped === '') ELEMENTS.get(name)?.close?.(this)
    else if (name === this.#skipped && --this.#skippedDepth === 0) this.#skipped = ''
  }

  /** The attribute of the current tag: of a link its address, of an image its text. */
  #value(): string {
    const { valueStart, valueEnd } = this.#scanner
    return valueEnd === 0 ? '' : decodeAttribute(this.#html.slice(valueStart, valueEnd))
  }

  skip(): void {
    this.#skipped = this.#scanner.name
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
    const alt = this.#value()
    this.#write(alt, 0, alt.length)
  }

  openLink(): void {
    this.closeLink() // links do not nest: the end tag is missing
    const value = this.#value()
    const href = SPACES.test(value) ? value.replaceAll(/\s+/g, '') : value
    this.#link = { href: NO_TARGET.test(href) ? '' : href, text: '' }
  }

  closeLink(): void {
    const link = this.#link
    this.#link = null
    if (link === null || link.href === '' || normaliseLink(link.text) === normaliseLink(link.href)) return
    this.flow.writeWord(`[${link.href}]`)
  }

  /** Most texts have no character reference and are read where they are. */
  #writeText(start: number, end: number): void {
    if (this.#nextReference < start) {
      const at = this.#html.indexOf('&', start)
      this.#nextReference = at < 0 ? this.#html.length : at
    }
    if (this.#nextReference >= end) return this.#write(this.#html, start, end)
    const text = decodeText(this.#html.slice(start, end))
    this.#write(text, 0, text.length)
  }

  #write(text: string, from: number, to: number): void {
    if (this.#isInHead) {
      if (BLANK.test(text.slice(from, to))) return
      this.#isInHead = false // a head has no text: its end tag is missing
    }
    const link = this.#link
    if (link !== null && link.href !== '' && link.text.length < MAX_COMPARED) link.text += text.slice(from, to)
    if (this.#pres > 0) this.flow.writeAsIs(text.slice(from, to))
    else this.flow.write(text, from, to)
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
