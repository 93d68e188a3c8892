/** What a client prefers beside its request, in the header `Prefer` (RFC 7240). Pure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Translation } from '#src/platform/coded-text.ts'
import type { SentenceFinder } from '#src/platform/sentence-codes.ts'

/** `Prefer: handling=strict`: an error for an unknown field. */
export function isStrict(headers: IncomingHttpHeaders): boolean {
  return hasPreference(headers, /^\s*handling\s*=\s*"?strict"?\s*(?:;|$)/i)
}

/** The response header that says that it was honoured. */
export const STRICT_HEADERS = { 'Preference-Applied': 'handling=strict' }

/** `Prefer: translations`: codes beside the sentences of an error, and beside reasons. */
export function wantsTranslations(headers: IncomingHttpHeaders): boolean {
  return hasPreference(headers, /^\s*translations\s*(?:;|$)/i)
}

/** The function that gives a row with a reason its translation, for a client that asks for it. */
export function reasonTranslator(
  headers: IncomingHttpHeaders,
  find: SentenceFinder,
): (reason: string | null) => { readonly reason_translation?: Translation | null } {
  if (!wantsTranslations(headers)) return () => ({})
  return (reason) => ({ reason_translation: reason === null ? null : find(reason) })
}

function hasPreference({ prefer }: IncomingHttpHeaders, pattern: RegExp): boolean {
  return String(prefer ?? '')
    .split(',')
    .some((preference) => pattern.test(preference))
}
