/**
 * Finds the code of a sentence in its catalogue. Most sentences have their code from where they are written
 * (coded-text.ts). Some are only stored or passed on as text, such as the reason of a recipient, or what zod says of a
 * field; their code is found here, when they are shown. Pure. A sentence quotes untrusted text, so each pattern is
 * anchored, has few gaps, and sees at most MAX_LENGTH characters.
 */
import type { Translation } from './coded-text.ts'

const MAX_LENGTH = 500
/** Gaps that are numbers. */
const NUMBERS: ReadonlySet<string> = new Set(['max', 'min', 'days', 'byte', 'line', 'seconds', 'failures', 'size'])
const GAP = /\{(\w+)\}/

interface Pattern {
  readonly code: string
  readonly names: readonly string[]
  readonly pattern: RegExp
}

/** Null: the sentence has no code. */
export type SentenceFinder = (sentence: string) => Translation | null

/** Finds the codes of params that are sentences themselves, by the names of the params. */
type ParamFinders = Readonly<Record<string, SentenceFinder>>

/** The first of the finders that knows the sentence. */
export function findFirst(...finders: readonly SentenceFinder[]): SentenceFinder {
  return (sentence) => {
    for (const find of finders) {
      const found = find(sentence)
      if (found !== null) return found
    }
    return null
  }
}

/**
 * Of sentences that begin alike, the more exact one stands first in `texts`. A sentence with a word in a gap of `words`
 * that its finder does not know is another sentence.
 */
export function createSentenceFinder(
  area: string,
  texts: Readonly<Record<string, string>>,
  paramFinders: ParamFinders = {},
  words: readonly string[] = [],
): SentenceFinder {
  const entries = Object.entries(texts).map(([code, text]) => [`${area}.${code}`, text] as const)
  const plainCodes = new Map(entries.filter(([, text]) => !GAP.test(text)).map(([code, text]) => [text, code]))
  const patterns = entries.filter(([, text]) => GAP.test(text)).map(([code, text]) => toPattern(code, text))
  return (sentence) => {
    if (sentence.length > MAX_LENGTH) return null
    const plain = plainCodes.get(sentence)
    if (plain !== undefined) return { code: plain, params: {} }
    for (const found of matchPatterns(patterns, sentence)) {
      const translated = withParamTranslations(found, paramFinders)
      if (words.every((name) => hasKnownWord(translated, name))) return translated
    }
    return null
  }
}

function hasKnownWord({ params, param_translations: translations }: Translation, name: string): boolean {
  return params[name] === undefined || translations?.[name] !== undefined
}

function withParamTranslations(found: Translation, finders: ParamFinders): Translation {
  const translated = Object.entries(found.params).flatMap(([name, value]) => {
    const translation = finders[name]?.(value) ?? null
    return translation === null ? [] : [[name, translation] as const]
  })
  return translated.length === 0 ? found : { ...found, param_translations: Object.fromEntries(translated) }
}

function* matchPatterns(patterns: readonly Pattern[], sentence: string): Generator<Translation> {
  for (const { code, names, pattern } of patterns) {
    const found = pattern.exec(sentence)
    if (found !== null) yield { code, params: Object.fromEntries(names.map((name, i) => [name, found[i + 1] ?? ''])) }
  }
}

function toPattern(code: string, text: string): Pattern {
  // odd parts are names
  const parts = text.split(new RegExp(GAP, 'g'))
  const source = parts.map((part, i) => (i % 2 === 0 ? escapeText(part) : gapOf(part)))
  return { code, names: parts.filter((_, i) => i % 2 === 1), pattern: new RegExp(`^${source.join('')}$`, 's') }
}

function escapeText(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

function gapOf(name: string): string {
  return NUMBERS.has(name) ? String.raw`([\d.,]{1,20})` : '(.{1,300}?)'
}
