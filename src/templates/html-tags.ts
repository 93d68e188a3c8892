/**
 * Finds the start tags of an HTML source and their attributes by offset, so that a change can overwrite exactly these
 * ranges and leave every other byte intact. One pass, no tree. Expressions must be masked first.
 */
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'

export interface Attribute {
  /** In lower case. */
  readonly name: string
  readonly nameStart: number
  /** Range of the value without its quotes; both 0 without a value. */
  readonly start: number
  readonly end: number
  readonly quote: '"' | "'" | ''
  /** Offset after the closing quote. */
  readonly afterQuote: number
}

export interface Tag {
  /** In lower case. */
  readonly name: string
  readonly start: number
  readonly nameEnd: number
  /** Offset after `>`. */
  readonly end: number
  readonly attributes: readonly Attribute[]
  /** Whether the tag is written as `<br/>`. */
  readonly isSelfClosing: boolean
}

export interface ParsedTags {
  readonly tags: readonly Tag[]
  readonly endTags: readonly { readonly name: string; readonly start: number }[]
  /** Ranges of comments, including Outlook's conditional comments. */
  readonly comments: readonly SourceRange[]
  /** Content range of each `<style>`, with its start tag. */
  readonly styleSheets: readonly (SourceRange & { readonly tag: Tag })[]
}

export interface SourceRange {
  readonly start: number
  readonly end: number
}

const QUOTES = ['', '', "'", '"'] as const

export function parseTags(html: string): ParsedTags {
  const reader = new TagCollector(html)
  const tokenizer = new Tokenizer({ decodeEntities: false }, reader)
  tokenizer.write(html)
  tokenizer.end()
  return reader
}

class TagCollector implements TokenizerCallbacks, ParsedTags {
  readonly tags: Tag[] = []
  readonly endTags: { name: string; start: number }[] = []
  readonly comments: SourceRange[] = []
  readonly styleSheets: (SourceRange & { readonly tag: Tag })[] = []
  readonly #html: string
  #name: SourceRange = { start: 0, end: 0 }
  #attributes: Attribute[] = []
  #attribute: SourceRange = { start: 0, end: 0 }
  #value: SourceRange = { start: 0, end: 0 }
  #style: Tag | null = null

  constructor(html: string) {
    this.#html = html
  }

  onopentagname(start: number, end: number): void {
    this.#name = { start, end }
    this.#attributes = []
  }

  onattribname(start: number, end: number): void {
    this.#attribute = { start, end }
    this.#value = { start: 0, end: 0 }
  }

  onattribdata(start: number, end: number): void {
    this.#value = { start: this.#value.end === 0 ? start : this.#value.start, end }
  }

  onattribend(kind: 0 | 1 | 2 | 3, end: number): void {
    const quote = QUOTES[kind]
    const { start, end: nameEnd } = this.#attribute
    const value = this.#value.end === 0 && quote !== '' ? { start: end, end } : this.#value
    const after = quote === '' ? Math.max(value.end, nameEnd) : value.end + 1
    this.#attributes.push({
      name: this.#html.slice(start, nameEnd).toLowerCase(),
      nameStart: start,
      ...value,
      quote,
      afterQuote: after,
    })
  }

  onopentagend(end: number): void {
    this.#addTag(end, false)
  }

  #addTag(end: number, isSelfClosing: boolean): void {
    const { start, end: nameEnd } = this.#name
    const name = this.#html.slice(start, nameEnd).toLowerCase()
    const tag = { name, start: start - 1, nameEnd, end: end + 1, attributes: this.#attributes, isSelfClosing }
    this.tags.push(tag)
    this.#style = tag.name === 'style' ? tag : null
  }

  onselfclosingtag(end: number): void {
    this.#addTag(end, true)
    this.#style = null
  }

  onclosetag(start: number, end: number): void {
    this.endTags.push({ name: this.#html.slice(start, end).toLowerCase(), start: start - 2 })
    if (this.#style !== null) this.styleSheets.push({ tag: this.#style, start: this.#style.end, end: start - 2 })
    this.#style = null
  }

  oncomment(start: number, end: number): void {
    this.comments.push({ start: start - 4, end: end + 1 })
  }

  ontext(): void {
    /* only tags */
  }
  ontextentity(): void {
    /* only tags */
  }
  onattribentity(): void {
    /* not decoded */
  }
  oncdata(): void {
    /* outside of SVG and MathML it is a comment */
  }
  ondeclaration(): void {
    /* nothing in it */
  }
  onprocessinginstruction(): void {
    /* nothing in it */
  }
  onend(): void {
    /* nothing is left */
  }
}
