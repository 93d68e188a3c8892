/** What a client prefers beside its request, in the header `Prefer` (RFC 7240). Pure. */
import type { IncomingHttpHeaders } from 'node:http'

/** `Prefer: handling=strict`: an error for an unknown field. */
export function isStrict(headers: IncomingHttpHeaders): boolean {
  return hasPreference(headers, /^\s*handling\s*=\s*"?strict"?\s*(?:;|$)/i)
}

/** The response header that says that it was honoured. */
export const STRICT_HEADERS = { 'Preference-Applied': 'handling=strict' }

/** `Prefer: translations`: codes beside the sentences of an error. */
export function wantsTranslations(headers: IncomingHttpHeaders): boolean {
  return hasPreference(headers, /^\s*translations\s*(?:;|$)/i)
}

function hasPreference({ prefer }: IncomingHttpHeaders, pattern: RegExp): boolean {
  return String(prefer ?? '')
    .split(',')
    .some((preference) => pattern.test(preference))
}
