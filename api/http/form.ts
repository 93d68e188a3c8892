/**
 * A form as browsers send it (application/x-www-form-urlencoded): each field a text, the last one where a name comes twice, as with a
 * checkbox behind its hidden default. What no text may have (NUL, bytes that are not UTF-8) is refused, and so are endless fields.
 * Or as multipart/form-data (RFC 7578), as some programs send the same; files in it are passed over.
 */
export type FormResult =
  | { readonly ok: true; readonly value: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: string }

const MAX_FIELDS = 100
/** U+FFFD stands where the percent-encoding was not UTF-8. */
const UNCLEAN = /[\0\uFFFD]/

export function readForm(text: string): FormResult {
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS)
    return { ok: false, reason: `the form has more than ${MAX_FIELDS} fields` }
  return formOf([...new URLSearchParams(text)])
}

function formOf(fields: readonly (readonly [name: string, value: string])[]): FormResult {
  if (fields.some(([name, value]) => UNCLEAN.test(name) || UNCLEAN.test(value)))
    return { ok: false, reason: 'the form has characters that no text may have' }
  return { ok: true, value: Object.fromEntries(fields) } // own properties, also for __proto__
}

const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i
const PART_NAME = /^content-disposition\s*:\s*form-data\b[^\r\n]*?;\s*name="([^"\r\n]*)"/im

/** `type` is the Content-Type, which has the boundary in it. */
export function readMultipart(text: string, type: string): FormResult {
  const [, quoted, plain] = BOUNDARY.exec(type) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return { ok: false, reason: 'the multipart form names no boundary' }
  // a delimiter takes the line end in front of it
  const parts = `\r\n${text}`.split(`\r\n--${boundary}`).slice(1, -1)
  if (parts.length > MAX_FIELDS) return { ok: false, reason: `the form has more than ${MAX_FIELDS} fields` }
  return formOf(
    parts.flatMap((part): [string, string][] => {
      const end = part.indexOf('\r\n\r\n')
      const head = part.slice(0, Math.max(end, 0))
      const name = PART_NAME.exec(head)?.[1]
      return name === undefined || /;\s*filename/i.test(head) ? [] : [[name, part.slice(end + 4)]]
    }),
  )
}
