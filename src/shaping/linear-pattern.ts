/**
 * Finds a regular expression in a text in linear time: at most its number of parts times the number of characters, whatever both are. V8
 * backtracks instead: `a*a+ba` takes 20 million steps for 500 characters, `(a|a)` written forty times takes days.
 *
 * A part maps the places where it may begin to the places where it may end, all of them in one pass over the text. What one character may
 * be is decided by a RegExp of that character alone, so the meaning is that of RegExp with the flags `i` and `u`.
 * Excluded are what needs more than one pass: repeated groups, look-around and back references.
 */

/** Places between characters, ascending: 0 is before the first character. */
type Places = readonly number[]

export interface Characters {
  /** Code points. */
  readonly codes: readonly number[]
  readonly everywhere: Places
}

type Codes = Characters['codes']
type Part = (codes: Codes, starts: Places) => Places
type PlaceTest = (codes: Codes, place: number) => boolean

export interface PatternToken {
  /** One character, escape, class, assertion or sign of a group, as it is written. */
  readonly element: string
  /** `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}` or nothing; a `?` that makes it lazy is left out. */
  readonly quantifier: string
}

const ELEMENTS = [
  String.raw`\\u\{[^}]*\}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\p\{[^}]*\}|\\c[a-z]|\\.`,
  String.raw`\[(?:\\.|[^\]\\])*\]`,
  String.raw`\(\?:`,
  '.',
]
const QUANTIFIER = String.raw`(\*|\+|\?|\{\d+(?:,\d*)?\})\??`
const TOKEN = new RegExp(`(${ELEMENTS.join('|')})(?:${QUANTIFIER})?`, 'gisu')

export function readTokens(source: string): PatternToken[] {
  return [...source.matchAll(TOKEN)].map(([, element = '', quantifier = '']) => ({ element, quantifier }))
}

/** Half of a surrogate pair is a character, as it is for RegExp. */
export function readCharacters(text: string): Characters {
  const codes: number[] = []
  const everywhere = [0]
  for (const character of text) everywhere.push(codes.push(character.codePointAt(0) ?? 0))
  return { codes, everywhere }
}

/** @param tokens of a source that RegExp accepts with the flags `iu`, without what is excluded above. */
export function compileTokens(tokens: readonly PatternToken[]): (characters: Characters) => boolean {
  const pattern = readAlternatives({ tokens, next: 0, sets: new Map() })
  return ({ codes, everywhere }) => pattern(codes, everywhere).length > 0
}

interface Reader {
  readonly tokens: readonly PatternToken[]
  next: number
  readonly sets: Map<string, CharacterSet>
}

/** Up to the end of the group, or of the pattern. */
function readAlternatives(reader: Reader): Part {
  const alternatives: Part[][] = [[]]
  for (; reader.next < reader.tokens.length; reader.next++) {
    const { element = '', quantifier = '' } = reader.tokens[reader.next] ?? {}
    if (element === ')') break
    if (element === '|') alternatives.push([])
    else alternatives.at(-1)?.push(readPart(reader, element, quantifier))
  }
  return anyOf(alternatives.map(sequence))
}

function readPart(reader: Reader, element: string, quantifier: string): Part {
  if (element === '(' || element === '(?:') {
    reader.next++
    const group = readAlternatives(reader)
    return reader.tokens[reader.next]?.quantifier === '?' ? anyOf([sequence([]), group]) : group
  }
  const holds = ASSERTIONS[element]
  if (holds !== undefined) return (codes, starts) => starts.filter((place) => holds(codes, place))
  const set = reader.sets.get(element) ?? new CharacterSet(element)
  reader.sets.set(element, set)
  return quantifier === '' ? once(set) : repeated(set, ...countsOf(quantifier))
}

/** The characters that an element stands for. */
class CharacterSet {
  readonly #regex: RegExp
  /** Of each ASCII character 1 or 0, so that a usual text costs no call of RegExp. */
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
const isBoundary: PlaceTest = (codes, place) => isWord(codes[place - 1]) !== isWord(codes[place])

const ASSERTIONS: Readonly<Record<string, PlaceTest>> = {
  '^': (_, place) => place === 0,
  $: (codes, place) => place === codes.length,
  '\\b': isBoundary,
  '\\B': (codes, place) => !isBoundary(codes, place),
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

function sequence(parts: readonly Part[]): Part {
  return (codes, starts) => {
    let places = starts
    for (const part of parts) {
      if (places.length === 0) break
      places = part(codes, places)
    }
    return places
  }
}

function anyOf(parts: readonly Part[]): Part {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return only
  return (codes, starts) => {
    let all: Places = []
    for (const part of parts) all = union(all, part(codes, starts))
    return all
  }
}

function union(one: Places, other: Places): Places {
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

function once(set: CharacterSet): Part {
  return (codes, starts) => {
    const ends: number[] = []
    for (const place of starts) {
      const code = codes[place]
      if (code !== undefined && set.has(code)) ends.push(place + 1)
    }
    return ends
  }
}

/** From `min` to `max` characters of the set. Of the starts that are `min` behind a place the last decides whether it is reached. */
function repeated(set: CharacterSet, min: number, max: number): Part {
  return (codes, starts) => {
    const ends: number[] = []
    const [first = 0] = starts
    let next = 0
    let start = -Infinity
    let run = 0
    for (let place = first; place <= codes.length; place++) {
      if (place > first) run = set.has(codes[place - 1] ?? 0) ? run + 1 : 0
      for (; (starts[next] ?? Infinity) <= place - min; next++) start = starts[next] ?? start
      if (place - start <= Math.min(run, max)) ends.push(place)
    }
    return ends
  }
}
