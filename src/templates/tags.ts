/**
 * The start tags of an HTML source and their attributes, by offset: what must change something in a template writes over these places and
 * leaves every other byte as it is. One pass, no tree; expressions must be masked before.
 */
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'

export interface Attribute {
  /** In lower case. */
  readonly name: string
  readonly nameStart: number
  /** Of the value without its quotes; both 0 where there is none. */
  readonly start: number
  readonly end: number
  readonly quote: '"' | "'" | ''
  /** Behind the closing quote. */
  readonly after: number
}

export interface Tag {
  /** In lower case. */
  readonly name: string
  readonly start: number
  readonly nameEnd: number
  /** Behind `>`. */
  readonly end: number
  readonly attributes: readonly Attribute[]
  /** `<br/>`. */
  readonly isClosed: boolean
}

export interface Tags {
  readonly tags: readonly Tag[]
  readonly ends: readonly { readonly name: string; readonly start: number }[]
  /** Of the comments, with what only Outlook reads. */
  readonly comments: readonly Range[]
  /** Of what stands in each `<style>`, with the tag that opened it. */
  readonly sheets: readonly (Range & { readonly tag: Tag })[]
}

export interface Range {
  readonly start: number
  readonly end: number
}

const QUOTES = ['', '', "'", '"'] as const

export function readTags(html: string): Tags {
  const reader = new Reader(html)
  const tokenizer = new Tokenizer({ decodeEntities: false }, reader)
  tokenizer.write(html)
  tokenizer.end()
  return reader
}

class Reader implements TokenizerCallbacks, Tags {
  readonly tags: Tag[] = []
  readonly ends: { name: string; start: number }[] = []
  readonly comments: Range[] = []
  readonly sheets: (Range & { readonly tag: Tag })[] = []
  readonly #html: string
  #name: Range = { start: 0, end: 0 }
  #attributes: Attribute[] = []
  #attribute: Range = { start: 0, end: 0 }
  #value: Range = { start: 0, end: 0 }
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
      after,
    })
  }

  onopentagend(end: number): void {
    this.#addTag(end, false)
  }

  #addTag(end: number, isClosed: boolean): void {
    const { start, end: nameEnd } = this.#name
    const name = this.#html.slice(start, nameEnd).toLowerCase()
    const tag = { name, start: start - 1, nameEnd, end: end + 1, attributes: this.#attributes, isClosed }
    this.tags.push(tag)
    this.#style = tag.name === 'style' ? tag : null
  }

  onselfclosingtag(end: number): void {
    this.#addTag(end, true)
    this.#style = null
  }

  onclosetag(start: number, end: number): void {
    this.ends.push({ name: this.#html.slice(start, end).toLowerCase(), start: start - 2 })
    if (this.#style !== null) this.sheets.push({ tag: this.#style, start: this.#style.end, end: start - 2 })
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
