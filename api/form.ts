/**
 * A form as browsers send it (application/x-www-form-urlencoded): each field a text, the last one where a name comes twice, as with a
 * checkbox behind its hidden default. What no text may have (NUL, bytes that are not UTF-8) is refused, and so are endless fields.
 */
export type FormResult =
  | { readonly ok: true; readonly value: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: string }

const MAX_FIELDS = 100
/** U+FFFD stands where the percent-encoding was not UTF-8. */
const UNCLEAN = /[\0\uFFFD]/

export function readForm(text: string): FormResult {
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS) return { ok: false, reason: `the form has more than ${MAX_FIELDS} fields` }
  const fields = [...new URLSearchParams(text)]
  if (fields.some(([name, value]) => UNCLEAN.test(name) || UNCLEAN.test(value)))
    return { ok: false, reason: 'the form has characters that no text may have' }
  return { ok: true, value: Object.fromEntries(fields) } // own properties, also for __proto__
}
