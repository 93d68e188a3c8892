/**
 * Sentences for people with a stable code and what they name, so that a client can show them in another language: the
 * API returns both. A catalogue maps codes to English sentences with `{parameters}`; `{n|report|reports}` is a count
 * with its noun, and `{at|time}` a time as people read it. Codes are a public contract. Pure; parameters may be
 * untrusted text, which is never read as a sentence.
 */
import { countText } from './plural.ts'
import { timeText } from './time-text.ts'

/** What a client needs to say a sentence in its own words. */
export interface Translation {
  /** Such as `record.cname_elsewhere`. */
  readonly code: string
  readonly params: Readonly<Record<string, string>>
  /** Of the params that are sentences with a code themselves. */
  readonly param_translations?: Readonly<Record<string, Translation>>
}

export interface CodedText extends Translation {
  /** The sentence in English. */
  readonly text: string
}

/** One that somebody else wrote, such as another server, has no code. */
export type Sentence = Pick<CodedText, 'text'> & Partial<Translation>

type NameOf<Placeholder extends string> = Placeholder extends `${infer Name}|${string}` ? Name : Placeholder
type NamesIn<Text extends string> = Text extends `${string}{${infer Placeholder}}${infer Rest}`
  ? NameOf<Placeholder> | NamesIn<Rest>
  : never
/** A sentence that is joined of several strings has no literal type: its parameters are not checked. */
type ParamsOf<Text extends string> = string extends Text
  ? [params?: Readonly<Record<string, string | number>>]
  : [NamesIn<Text>] extends [never]
    ? []
    : [params: Readonly<Record<NamesIn<Text>, string | number>>]

export type TextWriter<Texts extends Readonly<Record<string, string>>> = <Code extends keyof Texts & string>(
  code: Code,
  ...params: ParamsOf<Texts[Code]>
) => CodedText

/** The function that writes the sentences of a catalogue. Its codes begin with `area`. */
export function textsOf<const Texts extends Readonly<Record<string, string>>>(
  area: string,
  texts: Texts,
): TextWriter<Texts> {
  return (code, ...[given = {}]) => {
    const params = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]))
    return { code: `${area}.${code}`, params, text: fillText(texts[code] ?? code, params) }
  }
}

/** Finds `{name}`, `{name|one|many}` and `{name|time}`. */
export const PLACEHOLDER = /\{(\w+)(?:\|([^{}|]+))?(?:\|([^{}|]+))?\}/g

function fillText(text: string, params: Translation['params']): string {
  return text.replaceAll(PLACEHOLDER, (whole, name: string, one?: string, many?: string) => {
    const value = params[name]
    if (value === undefined || one === undefined) return value ?? whole
    return many === undefined ? timeText(new Date(value)) : countText(Number(value), one, many)
  })
}

/** Null: the sentence has no code. */
export function findTranslation({ code, params = {} }: Sentence): Translation | null {
  return code === undefined ? null : { code, params }
}

export function translationOf({ code, params }: CodedText): Translation {
  return { code, params }
}
