/** What the server says, in the language of the reader: by its code, or as the server says it. Pure. */
import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'
import type { Language } from './language.tsx'

export interface Translation {
  readonly code: string
  readonly params: Readonly<Record<string, string>>
  /** Of the params that are sentences themselves. */
  readonly param_translations?: Readonly<Record<string, Translation>>
}

interface Wording {
  readonly server: ServerTexts
  readonly language: Language
}

export function sayServerText(
  { server, language }: Wording,
  text: string,
  translation: Translation | null | undefined,
): string {
  return sayTranslation({ server, language }, translation) ?? text
}

/** A text of several sentences: in the language of the reader if it has a text for each, else as the server says it. */
export function saySentences(wording: Wording, text: string, translations: readonly Translation[]): string {
  const sentences = translations.map((one) => sayTranslation(wording, one))
  return sentences.length === 0 || sentences.includes(null) ? text : sentences.join(' ')
}

/** Null: there is no text for it. */
function sayTranslation({ server, language }: Wording, translation: Translation | null | undefined): string | null {
  if (translation === null || translation === undefined) return null
  const sentence = server[translation.code]
  if (sentence === undefined) return null
  return sentence.replaceAll(PLACEHOLDER, (whole, name: string, one?: string, many?: string) => {
    const value = translation.params[name]
    if (value === undefined) return whole
    const said = sayTranslation({ server, language }, translation.param_translations?.[name])
    if (said !== null) return said
    if (one === undefined || many === undefined) return localTime(value, language)
    return `${Number(value).toLocaleString(language)} ${Number(value) === 1 ? one : many}`
  })
}

/** `{name}`; or `{name|one|many}`, a count with its noun. */
const PLACEHOLDER = /\{(\w+)(?:\|([^{}|]+)\|([^{}|]+))?\}/g

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/

const TIMES = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z\b/g

/** A text of the server with its times in the zone of the reader. */
export function withLocalTimes(text: string, language: Language): string {
  return text.replaceAll(TIMES, (time) => localTime(time, language))
}

/** A time is in the zone of the reader; other values stay as they are. */
function localTime(value: string, language: Language): string {
  const time = TIME.test(value) ? new Date(value) : null
  if (time === null || Number.isNaN(time.getTime())) return value
  return time.toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' })
}

/** Without a translation, their texts say what a general sentence cannot: it stands in front of the server's own. */
const SPECIFIC: ReadonlySet<string> = new Set([
  'VALIDATION_ERROR',
  'INVALID_TEMPLATE',
  'FORBIDDEN',
  'INSUFFICIENT_SCOPE',
  'PLAN_REQUIRED',
  'CONFLICT',
  'PAYLOAD_TOO_LARGE',
  'RATE_LIMITED',
])

interface ServerError {
  readonly code: string
  readonly message: string
  readonly translation: Translation | null | undefined
}

export function sayError(wording: Wording, { code, message, translation }: ServerError): string {
  const sentence = wording.server[`error.${code}`]
  const said = sayTranslation(wording, translation)
  if (said !== null || sentence === undefined) return said ?? message
  return SPECIFIC.has(code) ? `${sentence} (${message})` : sentence
}
