/**
 * Parses untrusted JSON (RFC 8259), stricter than JSON.parse: it refuses duplicate keys, `__proto__`, NUL characters
 * (PostgreSQL's text type cannot store them) and lone surrogates, and also input nested or split into so many values or
 * keys that it would need far more memory and time than it has bytes. Never throws; linear in the length of the text.
 *
 * Depth, number of values and duplicate keys are found by scanning the text outside of its strings. The scan costs more
 * than parsing an ordinary body, so it runs only if quick searches cannot exclude a problem: many brackets or colons, a
 * large text, or more keys in the text than in the result. A body with too many keys is refused before it is parsed.
 */
export type JsonResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

const MAX_DEPTH = 64
// A batch of 500 messages with 50 named recipients each has about 100,000 values.
const MAX_VALUES = 400_000
/** Objects have the fields of the API, or keys that a person has chosen. Each key costs far more than a value. */
const MAX_OBJECT_KEYS = 2000

/** Characters. Every value needs at least two. */
const SMALL_LENGTH = 256 * 1024

const SPACE = 0x20
const QUOTE = 0x22
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const CLOSE_OBJECT = 0x7d
const CLOSE_ARRAY = 0x5d
const COLON = 0x3a
const COMMA = 0x2c
const BACKSLASH = 0x5c

/** An empty text counts as an empty object. */
export function readJson(text: string): JsonResult {
  if (text === '') return { ok: true, value: {} }
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  const scan = isSimple(source) ? null : scanText(source)
  if (scan?.ok === false) return scan
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch {
    return fail('the body is not valid JSON')
  }
  const findings: Findings = { keys: 0, hasEscapes: source.includes('\\u'), problem: null }
  checkValue(value, findings)
  if (findings.problem !== null) return fail(findings.problem)
  return findings.keys === (scan?.keys ?? countKeys(source, findings.keys))
    ? { ok: true, value }
    : fail('an object in the body has the same key twice')
}

interface JsonError {
  readonly ok: false
  readonly reason: string
}

function fail(reason: string): JsonError {
  return { ok: false, reason }
}

/** Too short to have too many values, with too few brackets to be too deep, and too few colons for too many keys. */
function isSimple(text: string): boolean {
  if (text.length > SMALL_LENGTH) return false
  const brackets = countUpTo(text, '{', MAX_DEPTH) + countUpTo(text, '[', MAX_DEPTH)
  return brackets <= MAX_DEPTH && countUpTo(text, ':', MAX_OBJECT_KEYS) <= MAX_OBJECT_KEYS
}

/** How often the character occurs; stops one above `most`. */
function countUpTo(text: string, character: string, most: number): number {
  let count = 0
  for (let at = text.indexOf(character); at >= 0 && count <= most; at = text.indexOf(character, at + 1)) count++
  return count
}

/**
 * The number of keys in the text. There are at most as many as colons after quotes; usually that equals `parsed`, the
 * number of keys in the result, and no scan is necessary.
 */
function countKeys(text: string, parsed: number): number {
  let most = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) if (isAfterQuote(text, at)) most++
  if (most === parsed) return parsed
  const scan = scanText(text)
  return scan.ok ? scan.keys : -1
}

function isAfterQuote(text: string, colon: number): boolean {
  let at = colon - 1
  while (at >= 0 && text.charCodeAt(at) <= SPACE) at--
  return text.charCodeAt(at) === QUOTE
}

/** Counts keys (colons outside of strings), also those that JSON.parse silently drops. Or says why not to parse. */
function scanText(text: string): { readonly ok: true; readonly keys: number } | JsonError {
  let keys = 0
  let depth = 0
  let values = 1
  /** Keys of the open object at each depth. */
  const keysAt = new Int32Array(MAX_DEPTH + 1)
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      i = endOfString(text, i + 1)
      if (i < 0) return fail('the body is not valid JSON')
    } else if (c === COLON) {
      keys++
      const ofObject = (keysAt[depth] ?? 0) + 1
      keysAt[depth] = ofObject
      if (ofObject > MAX_OBJECT_KEYS) return fail(`an object in the body has more than ${MAX_OBJECT_KEYS} keys`)
    } else if (c === COMMA) values++
    else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      values++
      if (++depth > MAX_DEPTH) return fail(`the body is nested deeper than ${MAX_DEPTH} levels`)
      keysAt[depth] = 0
    } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) depth--
  }
  return values > MAX_VALUES ? fail(`the body has more than ${MAX_VALUES} values`) : { ok: true, keys }
}

/** The index of the closing quote, or -1. A quote after an odd number of backslashes belongs to the string. */
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

interface Findings {
  keys: number
  /** Only an escape can produce a NUL or a lone surrogate: unescaped, they are not valid JSON or UTF-8. */
  readonly hasEscapes: boolean
  problem: string | null
}

function checkValue(value: unknown, findings: Findings): void {
  if (typeof value === 'string') {
    if (findings.hasEscapes) checkText(value, findings)
  } else if (Array.isArray(value)) {
    for (const item of value) checkValue(item, findings)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      findings.keys++
      if (key === '__proto__') findings.problem = 'an object in the body has the key "__proto__"'
      if (findings.hasEscapes) checkText(key, findings)
      checkValue(item, findings)
    }
  }
}

function checkText(text: string, findings: Findings): void {
  if (text.includes('\0')) findings.problem = 'a string in the body contains a NUL character'
  else if (!text.isWellFormed()) findings.problem = 'a string in the body contains a lone surrogate'
}
