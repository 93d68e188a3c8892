/**
 * JSON as it may come from anyone (RFC 8259), stricter than JSON.parse: a key twice in one object, `__proto__`, NUL characters
 * (PostgreSQL's text cannot hold them) and half surrogate pairs are refused, and so is anything nested or scattered so that it would
 * cost far more memory than it has bytes. Never throws; linear in the text.
 *
 * What may not be parsed, and which keys JSON.parse drops, shows in the text outside of its strings. Finding these costs more than parsing
 * an ordinary body, so it is only done where a few searches cannot rule trouble out: many brackets, a large text, more keys than came out.
 */
export type JsonResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

const MAX_DEPTH = 64
// 500 messages with 50 named recipients each have about 100,000.
const MAX_VALUES = 400_000

/** Characters; every value needs two. */
const SMALL = 256 * 1024

const SPACE = 0x20
const QUOTE = 0x22
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const CLOSE_OBJECT = 0x7d
const CLOSE_ARRAY = 0x5d
const COLON = 0x3a
const COMMA = 0x2c
const BACKSLASH = 0x5c

/** An empty text is an empty object: a request that has nothing to say. */
export function readJson(text: string): JsonResult {
  if (text === '') return { ok: true, value: {} }
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  const survey = isHarmless(source) ? null : surveyText(source)
  if (survey?.ok === false) return survey
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch {
    return refuse('the body is not valid JSON')
  }
  const seen: Seen = { keys: 0, hasEscapes: source.includes('\\u'), wrong: null }
  look(value, seen)
  if (seen.wrong !== null) return refuse(seen.wrong)
  return seen.keys === (survey?.keys ?? countKeys(source, seen.keys))
    ? { ok: true, value }
    : refuse('an object in the body has the same key twice')
}

interface Refused {
  readonly ok: false
  readonly reason: string
}

function refuse(reason: string): Refused {
  return { ok: false, reason }
}

/** Too small for too many values, and without enough brackets for too many levels, wherever they stand. */
function isHarmless(text: string): boolean {
  if (text.length > SMALL) return false
  let brackets = 0
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0 && brackets <= MAX_DEPTH; at = text.indexOf(bracket, at + 1))
      brackets++
  return brackets <= MAX_DEPTH
}

/** The keys that are written. `parsed` came out; no more can be written than there are colons after quotes, and mostly that settles it. */
function countKeys(text: string, parsed: number): number {
  let most = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) if (isAfterQuote(text, at)) most++
  if (most === parsed) return parsed
  const survey = surveyText(text)
  return survey.ok ? survey.keys : -1
}

function isAfterQuote(text: string, colon: number): boolean {
  let at = colon - 1
  while (at >= 0 && text.charCodeAt(at) <= SPACE) at--
  return text.charCodeAt(at) === QUOTE
}

/** Colons outside of strings: one a key, also of those that JSON.parse would silently drop. Or why the text may not be parsed. */
function surveyText(text: string): { readonly ok: true; readonly keys: number } | Refused {
  let keys = 0
  let depth = 0
  let values = 1
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      i = endOfString(text, i + 1)
      if (i < 0) return refuse('the body is not valid JSON')
    } else if (c === COLON) keys++
    else if (c === COMMA) values++
    else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      values++
      if (++depth > MAX_DEPTH) return refuse(`the body is nested deeper than ${MAX_DEPTH} levels`)
    } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) depth--
  }
  return values > MAX_VALUES ? refuse(`the body has more than ${MAX_VALUES} values`) : { ok: true, keys }
}

/** Where the closing quote is, or -1. A quote after an odd number of backslashes is part of the string. */
function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from)
  while (at >= 0) {
    let first = at
    while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((at - first) % 2 === 0) return at
    at = text.indexOf('"', at + 1)
  }
  return -1
}

interface Seen {
  keys: number
  /** Only an escape can bring in a NUL or half a surrogate pair: bare ones are not JSON, or not UTF-8. */
  readonly hasEscapes: boolean
  wrong: string | null
}

function look(value: unknown, seen: Seen): void {
  if (typeof value === 'string') {
    if (seen.hasEscapes) lookAtText(value, seen)
  } else if (Array.isArray(value)) {
    for (const item of value) look(item, seen)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      seen.keys++
      if (key === '__proto__') seen.wrong = 'an object in the body has the key "__proto__"'
      if (seen.hasEscapes) lookAtText(key, seen)
      look(item, seen)
    }
  }
}

function lookAtText(text: string, seen: Seen): void {
  if (text.includes('\0')) seen.wrong = 'a text in the body has a NUL character'
  else if (!text.isWellFormed()) seen.wrong = 'a text in the body has half of a surrogate pair'
}
