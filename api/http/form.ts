/**
 * Parses form bodies: application/x-www-form-urlencoded as browsers send it, and multipart/form-data (RFC 7578) without
 * its files. Each field is a string. If a name occurs twice, the last value counts: a checkbox follows its hidden
 * default. NUL, invalid UTF-8 and more than 100 fields are refused.
 */
export type FormResult =
  | { readonly ok: true; readonly value: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: string }

const MAX_FIELDS = 100
/** The decoder writes U+FFFD for percent-encoded bytes that are not UTF-8. */
const INVALID_CHARACTERS = /[\0\uFFFD]/

export function readForm(text: string): FormResult {
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS)
    return { ok: false, reason: `the form has more than ${MAX_FIELDS} fields` }
  return toForm([...new URLSearchParams(text)])
}

function toForm(fields: readonly (readonly [name: string, value: string])[]): FormResult {
  if (fields.some(([name, value]) => INVALID_CHARACTERS.test(name) || INVALID_CHARACTERS.test(value)))
    return { ok: false, reason: 'the form contains characters that cannot be stored' }
  return { ok: true, value: Object.fromEntries(fields) } // own properties, also for __proto__
}

const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i
const PART_NAME = /^content-disposition\s*:\s*form-data\b[^\r\n]*?;\s*name="([^"\r\n]*)"/im

/** `type` is the Content-Type with its boundary. */
export function readMultipart(text: string, type: string): FormResult {
  const [, quoted, plain] = BOUNDARY.exec(type) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return { ok: false, reason: 'the Content-Type of the multipart form has no boundary' }
  // the line break before a delimiter belongs to the delimiter
  const parts = `\r\n${text}`.split(`\r\n--${boundary}`).slice(1, -1)
  if (parts.length > MAX_FIELDS) return { ok: false, reason: `the form has more than ${MAX_FIELDS} fields` }
  return toForm(
    parts.flatMap((part): [string, string][] => {
      const end = part.indexOf('\r\n\r\n')
      const head = part.slice(0, Math.max(end, 0))
      const name = PART_NAME.exec(head)?.[1]
      return name === undefined || /;\s*filename/i.test(head) ? [] : [[name, part.slice(end + 4)]]
    }),
  )
}
