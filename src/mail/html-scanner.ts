/**
 * Splits HTML into texts, start tags and end tags, with offsets, as a browser's tokenizer does (WHATWG HTML, 13.2.5):
 * tags, attributes with all kinds of quotes, comments, bogus comments, and elements whose content is not markup. It
 * reads only the attribute that a tag is known for.
 *
 * One pass that never goes back; whatever has no end ends with the document. So the time is linear in the size of any
 * input. Never throws.
 */

/** The tokens. `end` is the end of the document. */
export type TokenKind = 'text' | 'open' | 'close' | 'end'

const SPACE = 32
const EXCLAMATION = 33
const QUOTE = 34
const APOSTROPHE = 39
const DASH = 45
const SLASH = 47
const EQUALS = 61
const GREATER = 62
const QUESTION = 63
/** A letter's code with this bit is lower case. */
const LOWER_BIT = 32

/** Elements whose content is text up to their end tag, whatever it looks like. */
const RAW: ReadonlySet<string> = new Set([
  'iframe',
  'noembed',
  'noframes',
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
])
/** The attribute that is read, for each element that has one. */
const ATTRIBUTE: ReadonlyMap<string, string> = new Map([
  ['a', 'href'],
  ['img', 'alt'],
])

export class HtmlScanner {
  /** The range of a text. */
  start = 0
  end = 0
  /** The name of a tag in lower case. */
  name = ''
  /** The range of the attribute that is read; both 0 without one. */
  valueStart = 0
  valueEnd = 0
  readonly #html: string
  #at = 0
  #raw = ''

  constructor(html: string) {
    this.#html = html
  }

  next(): TokenKind {
    while (this.#at < this.#html.length) {
      if (this.#raw !== '') {
        if (this.#readRawText()) return 'text'
        continue
      }
      const kind = this.#html.charCodeAt(this.#at) === 60 ? this.#readMarkup() : this.#readText(this.#at)
      if (kind !== null) return kind
    }
    return 'end'
  }

  /** Reads from `from` to the next `<`; the character before it may be one that begins no markup. */
  #readText(from: number): TokenKind {
    const end = this.#html.indexOf('<', from)
    this.start = this.#at
    this.end = end < 0 ? this.#html.length : end
    this.#at = this.end
    return 'text'
  }

  /** Null: a comment, or markup without a meaning. */
  #readMarkup(): TokenKind | null {
    const html = this.#html
    const after = this.#at + 1
    const c = html.charCodeAt(after)
    if (isLetter(c)) return this.#readTag(after, 'open')
    if (c === SLASH) {
      const name = after + 1
      if (isLetter(html.charCodeAt(name))) return this.#readTag(name, 'close')
      if (name < html.length) return this.#skipTo('>', name)
    } else if (c === EXCLAMATION) {
      return this.#skipComment(after + 1)
    } else if (c === QUESTION) {
      return this.#skipTo('>', after)
    }
    return this.#readText(after)
  }

  #skipTo(end: string, from: number): null {
    const at = this.#html.indexOf(end, from)
    this.#at = at < 0 ? this.#html.length : at + end.length
    return null
  }

  #skipComment(from: number): null {
    const html = this.#html
    const isComment = html.charCodeAt(from) === DASH && html.charCodeAt(from + 1) === DASH
    if (!isComment) return this.#skipTo('>', from)
    if (html.startsWith('>', from + 2) || html.startsWith('->', from + 2)) return this.#skipTo('>', from)
    return this.#skipTo('-->', from + 2)
  }

  /** `from` is the first letter of the name. A tag without an end is dropped with the rest of the document. */
  #readTag(from: number, kind: 'open' | 'close'): TokenKind | null {
    const html = this.#html
    let at = from + 1
    for (let c = html.charCodeAt(at); c > SPACE && c !== SLASH && c !== GREATER; c = html.charCodeAt(++at));
    this.name = lowerCaseName(html, from, at)
    this.valueStart = 0
    this.valueEnd = 0
    const wanted = kind === 'open' ? ATTRIBUTE.get(this.name) : undefined
    while (at < html.length) {
      const c = html.charCodeAt(at)
      if (c === GREATER) {
        this.#at = at + 1
        if (kind === 'open' && RAW.has(this.name)) this.#raw = this.name
        return kind
      }
      at = c <= SPACE || c === SLASH ? at + 1 : this.#readAttribute(at, wanted)
    }
    this.#at = html.length
    return null
  }

  /** Returns where the attribute ends. Of several with one name the first counts. */
  #readAttribute(from: number, wanted: string | undefined): number {
    const html = this.#html
    let at = from + 1 // a name may begin with "="
    for (let c = html.charCodeAt(at); c > SPACE && c !== EQUALS && c !== SLASH && c !== GREATER;)
      c = html.charCodeAt(++at)
    const nameEnd = at
    while (html.charCodeAt(at) <= SPACE) at++
    if (html.charCodeAt(at) !== EQUALS) return at
    at++
    while (html.charCodeAt(at) <= SPACE) at++
    const quote = html.charCodeAt(at)
    if (quote !== QUOTE && quote !== APOSTROPHE) {
      const start = at
      for (let c = html.charCodeAt(at); c > SPACE && c !== GREATER;) c = html.charCodeAt(++at)
      this.#keepValue(wanted, from, nameEnd, start, at)
      return at
    }
    const end = html.indexOf(quote === QUOTE ? '"' : "'", at + 1)
    if (end < 0) return html.length
    this.#keepValue(wanted, from, nameEnd, at + 1, end)
    return end + 1
  }

  // oxlint-disable-next-line max-params -- two ranges without an object for each attribute
  #keepValue(wanted: string | undefined, nameStart: number, nameEnd: number, start: number, end: number): void {
    if (wanted === undefined || nameEnd - nameStart !== wanted.length || this.valueEnd > 0) return
    if (this.#html.slice(nameStart, nameEnd).toLowerCase() !== wanted) return
    this.valueStart = start
    this.valueEnd = end
  }

  /** Reads to the end tag of a raw element; false: there is no text. */
  #readRawText(): boolean {
    const html = this.#html
    const [name, from] = [this.#raw, this.#at]
    this.#raw = ''
    let at = html.indexOf('</', from)
    while (at >= 0 && !this.#endsRaw(name, at + 2)) at = html.indexOf('</', at + 2)
    this.start = from
    this.end = at < 0 ? html.length : at
    this.#at = this.end
    return this.end > this.start
  }

  #endsRaw(name: string, from: number): boolean {
    const end = from + name.length
    const c = this.#html.charCodeAt(end)
    const isEnd = c <= SPACE || c === SLASH || c === GREATER
    return isEnd && this.#html.slice(from, end).toLowerCase() === name
  }
}

function isLetter(c: number): boolean {
  const lower = c | LOWER_BIT
  return lower >= 97 && lower <= 122
}

/** Names of up to five letters and digits as numbers, so that most tags need no string of their own. */
const SHORT_NAMES = new Map<number, string>()
const MAX_SHORT = 5
/** Known names that are short; any other name is one of a list without a meaning, but has to be exact. */
function lowerCaseName(html: string, from: number, to: number): string {
  if (to - from > MAX_SHORT) return html.slice(from, to).toLowerCase()
  let code = 0
  for (let i = from; i < to; i++) {
    const c = html.charCodeAt(i)
    const isDigit = c >= 48 && c <= 57
    if (!isDigit && !isLetter(c)) return html.slice(from, to).toLowerCase()
    code = code * 64 + (isDigit ? c - 47 : (c | LOWER_BIT) - 86)
  }
  const known = SHORT_NAMES.get(code)
  if (known !== undefined) return known
  const name = html.slice(from, to).toLowerCase()
  if (SHORT_NAMES.size < MAX_NAMES) SHORT_NAMES.set(code, name)
  return name
}
const MAX_NAMES = 500
