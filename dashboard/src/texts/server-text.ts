/** What the server says, in the language of the reader: by its code, or as the server says it. Pure. */
import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'
import type { Language } from './language.tsx'

export interface Translation {
  readonly code: string
  readonly params: Readonly<Record<string, string>>
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
  const sentence = translation === null || translation === undefined ? undefined : server[translation.code]
  if (sentence === undefined || translation === null || translation === undefined) return text
  return sentence.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = translation.params[name]
    return value === undefined ? whole : localTime(value, language)
  })
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** A time is in the zone of the reader; other values stay as they are. */
function localTime(value: string, language: Language): string {
  if (!TIME.test(value)) return value
  return new Date(value).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' })
}

/** Their texts say what a general sentence cannot: it stands in front of the server's own. */
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

export function sayError(server: ServerTexts, code: string, text: string): string {
  const sentence = server[`error.${code}`]
  if (sentence === undefined) return text
  return SPECIFIC.has(code) ? `${sentence} (${text})` : sentence
}
