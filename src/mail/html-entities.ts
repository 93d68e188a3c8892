/**
 * Decodes the character references of HTML texts and attribute values (WHATWG HTML, 13.2.5.72). The common ones are in
 * a table; the tokenizer of htmlparser2 decodes all others, and everything that is irregular, and so decides in every
 * case of doubt. Time is linear in the length of the text. Never throws.
 */
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'

/** Name and character in turn. */
const COMMON_PAIRS = (
  'amp & lt < gt > quot " apos \' copy © reg ® trade ™ euro € pound £ ndash – mdash — hellip … lsquo ‘ rsquo ’ ' +
  'sbquo ‚ ldquo “ rdquo ” bdquo „ laquo « raquo » bull • middot · rarr → larr ← times × deg ° eacute é egrave è ' +
  'agrave à ccedil ç auml ä ouml ö uuml ü Auml Ä Ouml Ö Uuml Ü szlig ß iexcl ¡ iquest ¿'
).split(' ')
const COMMON: ReadonlyMap<string, string> = new Map([
  ['nbsp', '\u00a0'],
  ['shy', '\u00ad'],
  ['zwnj', '\u200c'],
  ['zwj', '\u200d'],
  ...COMMON_PAIRS.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, COMMON_PAIRS[i + 1] ?? '']] : [])),
])
/** Longer references are rare. */
const MAX_LENGTH = 10
const HASH = 35

export function decodeText(text: string): string {
  return decode(text, decodeRareText)
}

export function decodeAttribute(value: string): string {
  return decode(value, decodeRareAttribute)
}

function decode(text: string, decodeRare: (text: string) => string): string {
  let at = text.indexOf('&')
  if (at < 0) return text
  let decoded = ''
  let from = 0
  while (at >= 0) {
    const end = text.indexOf(';', at)
    const character = end < 0 || end - at > MAX_LENGTH ? null : decodeCommon(text, at + 1, end)
    if (character === null) return decoded + text.slice(from, at) + decodeRare(text.slice(at))
    decoded += text.slice(from, at) + character
    from = end + 1
    at = text.indexOf('&', from)
  }
  return decoded + text.slice(from)
}

/** Null: not one of the common references. */
function decodeCommon(text: string, from: number, to: number): string | null {
  if (text.charCodeAt(from) !== HASH) return COMMON.get(text.slice(from, to)) ?? null
  let code = 0
  for (let i = from + 1; i < to; i++) {
    const digit = text.charCodeAt(i) - 48
    if (!(digit >= 0 && digit <= 9)) return null
    code = code * 10 + digit
  }
  const isPlain = (code >= 32 && code < 127) || (code >= 160 && code < 0xd800)
  return isPlain ? String.fromCharCode(code) : null
}

function decodeRareText(text: string): string {
  return tokenize(text.replaceAll('<', '&lt;'))
}

function decodeRareAttribute(value: string): string {
  return tokenize(`<a b="${value.replaceAll('"', '&quot;')}">`)
}

function tokenize(html: string): string {
  const collector = new Collector(html)
  const tokenizer = new Tokenizer({ decodeEntities: true }, collector)
  tokenizer.write(html)
  tokenizer.end()
  return collector.text
}

/** Collects the text or the attribute value of a document that has only one of them. */
class Collector implements TokenizerCallbacks {
  text = ''
  readonly #html: string

  constructor(html: string) {
    this.#html = html
  }

  ontext(start: number, end: number): void {
    this.text += this.#html.slice(start, end)
  }
  ontextentity(codepoint: number): void {
    this.text += String.fromCodePoint(codepoint)
  }
  onattribdata(start: number, end: number): void {
    this.ontext(start, end)
  }
  onattribentity(codepoint: number): void {
    this.ontextentity(codepoint)
  }

  onattribend(): void {}
  onattribname(): void {}
  oncdata(): void {}
  onclosetag(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onopentagend(): void {}
  onopentagname(): void {}
  onprocessinginstruction(): void {}
  onselfclosingtag(): void {}
}
