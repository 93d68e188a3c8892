/**
 * Searches a text for a regular expression in linear time: at most the number of its parts times the number of
 * characters. V8 backtracks instead: `a*a+ba` takes 20 million steps for 500 characters, `(a|a)` written forty times
 * takes days.
 *
 * A part maps the positions where it may start to the positions where it may end, all in one pass over the text. A
 * RegExp of the single element decides which characters match, so the meaning is that of RegExp with the flags `i` and
 * `u`. Not supported is what needs more than one pass: repeated groups, look-around and back references.
 */

/** Positions between characters, ascending: 0 is before the first character. */
type Positions = readonly number[]

export interface TextCharacters {
  /** Code points. */
  readonly codes: readonly number[]
  readonly positions: Positions
}

type Codes = TextCharacters['codes']
type PatternPart = (codes: Codes, starts: Positions) => Positions
type PositionTest = (codes: Codes, place: number) => boolean

export interface PatternToken {
  /** One character, escape, class, assertion or group delimiter, as written. */
  readonly element: string
  /** `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}` or nothing; the `?` of a lazy quantifier is dropped. */
  readonly quantifier: string
}

const ELEMENTS = [
  String.raw`\\u\{[^}]*\}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\x[\da-f]{2}`,
  String.raw`\\p\{[^}]*\}|\\c[a-z]|\\.`,
  String.raw`\[(?:\\.|[^\]\\])*\]`,
  String.raw`\(\?:`,
  '.',
]
const QUANTIFIER = String.raw`(\*|\+|\?|\{\d+(?:,\d*)?\})\??`
const TOKEN = new RegExp(`(${ELEMENTS.join('|')})(?:${QUANTIFIER})?`, 'gisu')

export function readTokens(source: string): PatternToken[] {
  return [...source.matchAll(TOKEN)].map(([, element = '', quantifier = '']) => ({ element, quantifier }))
}

/** An unpaired surrogate is a character, as in RegExp. */
export function readCharacters(text: string): TextCharacters {
  const codes: number[] = []
  const positions = [0]
  for (const character of text) positions.push(codes.push(character.codePointAt(0) ?? 0))
  return { codes, positions }
}

/** @param tokens of a source that RegExp accepts with the flags `iu`, without the unsupported parts listed above. */
export function compileTokens(tokens: readonly PatternToken[]): (characters: TextCharacters) => boolean {
  const pattern = readAlternatives({ tokens, next: 0, sets: new Map() })
  return ({ codes, positions: everywhere }) => pattern(codes, everywhere).length > 0
}

interface Reader {
  readonly tokens: readonly PatternToken[]
  next: number
  readonly sets: Map<string, CharacterSet>
}

/** Reads to the end of the group or of the pattern. */
function readAlternatives(reader: Reader): PatternPart {
  const alternatives: PatternPart[][] = [[]]
  for (; reader.next < reader.tokens.length; reader.next++) {
    const { element = '', quantifier = '' } = reader.tokens[reader.next] ?? {}
    if (element === ')') break
    if (element === '|') alternatives.push([])
    else alternatives.at(-1)?.push(readPart(reader, element, quantifier))
  }
  return anyOf(alternatives.map(sequence))
}

function readPart(reader: Reader, element: string, quantifier: string): PatternPart {
  if (element === '(' || element === '(?:') {
    reader.next++
    const group = readAlternatives(reader)
    return reader.tokens[reader.next]?.quantifier === '?' ? anyOf([sequence([]), group]) : group
  }
  const holds = ASSERTIONS[element]
  if (holds !== undefined) return (codes, starts) => starts.filter((position) => holds(codes, position))
  const set = reader.sets.get(element) ?? new CharacterSet(element)
  reader.sets.set(element, set)
  return quantifier === '' ? once(set) : repeated(set, ...countsOf(quantifier))
}

/** The set of characters that an element matches. */
class CharacterSet {
  readonly #regex: RegExp
  /** 1 or 0 for each ASCII character, so that ordinary text needs no RegExp call. */
  readonly #ascii: Uint8Array

  constructor(element: string) {
    const regex = new RegExp(`^(?:${element})$`, 'iu')
    this.#regex = regex
    this.#ascii = Uint8Array.from({ length: 128 }, (_, code) => Number(regex.test(String.fromCharCode(code))))
  }

  has(code: number): boolean {
    return code < 128 ? this.#ascii[code] === 1 : this.#regex.test(String.fromCodePoint(code))
  }
}

const word = new CharacterSet('\\w')
const isWord = (code: number | undefined): boolean => code !== undefined && word.has(code)
const isBoundary: PositionTest = (codes, position) => isWord(codes[position - 1]) !== isWord(codes[position])

const ASSERTIONS: Readonly<Record<string, PositionTest>> = {
  '^': (_, position) => position === 0,
  $: (codes, position) => position === codes.length,
  '\\b': isBoundary,
  '\\B': (codes, position) => !isBoundary(codes, position),
}

const COUNTS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  '*': [0, Infinity],
  '+': [1, Infinity],
  '?': [0, 1],
}

function countsOf(quantifier: string): readonly [min: number, max: number] {
  const [min = '', max = min] = quantifier.slice(1, -1).split(',')
  return COUNTS[quantifier] ?? [Number(min), max === '' ? Infinity : Number(max)]
}

function sequence(parts: readonly PatternPart[]): PatternPart {
  return (codes, starts) => {
    let positions = starts
    for (const part of parts) {
      if (positions.length === 0) break
      positions = part(codes, positions)
    }
    return positions
  }
}

function anyOf(parts: readonly PatternPart[]): PatternPart {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return only
  return (codes, starts) => {
    let all: Positions = []
    for (const part of parts) all = union(all, part(codes, starts))
    return all
  }
}

function union(one: Positions, other: Positions): Positions {
  if (one.length === 0 || other.length === 0) return one.length === 0 ? other : one
  const all: number[] = []
  for (let i = 0, j = 0; i < one.length || j < other.length;) {
    const [left, right] = [one[i] ?? Infinity, other[j] ?? Infinity]
    all.push(Math.min(left, right))
    if (left <= right) i++
    if (right <= left) j++
  }
  return all
}

function once(set: CharacterSet): PatternPart {
  return (codes, starts) => {
    const ends: number[] = []
    for (const position of starts) {
      const code = codes[position]
      if (code !== undefined && set.has(code)) ends.push(position + 1)
    }
    return ends
  }
}

/**
 * Matches `min` to `max` characters of the set. Of the starts at least `min` before a position, the last one decides
 * whether the position is reached.
 */
function repeated(set: CharacterSet, min: number, max: number): PatternPart {
  return (codes, starts) => {
    const ends: number[] = []
    const [first = 0] = starts
    let next = 0
    let start = -Infinity
    let run = 0
    for (let position = first; position <= codes.length; position++) {
      if (position > first) run = set.has(codes[position - 1] ?? 0) ? run + 1 : 0
      for (; (starts[next] ?? Infinity) <= position - min; next++) start = starts[next] ?? start
      if (position - start <= Math.min(run, max)) ends.push(position)
    }
    return ends
  }
}
