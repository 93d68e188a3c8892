/**
 * Header fields, and the groups of fields that delivery and feedback reports are made of (RFC 5322 2.2, RFC 3464 2.1): unfolded, forgiving,
 * bounded in number and length.
 */

export interface MimeHeaderField {
  /** Lower case. */
  readonly name: string
  /** Unfolded; lines joined by one space. */
  readonly value: string
}

const FIELD_LINE = /^([!-9;-~]+)[ \t]*:[ \t]*(.*)$/
/** Of a value and of the fields of one head: what is longer was not made to be read. */
const MAX_VALUE = 8000
const MAX_FIELDS = 500
/** A parameter that stands on a line of its own without the space that makes it a continuation. */
const LOOSE_PARAMETER = /^(?:boundary|charset|report-type|name)\s*=/i

/** The fields at the beginning of a text, and what follows the empty line after them. A text that begins with no field is all rest. */
export function parseHeaderFields(text: string): { readonly fields: readonly MimeHeaderField[]; readonly rest: string } {
  const fields: { name: string; value: string }[] = []
  let at = 0
  while (at < text.length) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end < 0 ? text.length : end)
    const next = end < 0 ? text.length : end + 1
    if (line.trim() === '') return { fields, rest: text.slice(next) }
    const last = fields.at(-1)
    const isContinued = /^[ \t]/.test(line) || LOOSE_PARAMETER.test(line)
    if (isContinued && last !== undefined) {
      if (last.value.length < MAX_VALUE) last.value += ` ${line.trim()}`
    } else {
      const field = FIELD_LINE.exec(line)
      // mbox files and some relays put such a line first
      if (field === null && !/^>?From /.test(line))
        return fields.length === 0 ? { fields, rest: text } : { fields, rest: text.slice(at) }
      const [, name = '', value = ''] = field ?? []
      if (field !== null && fields.length < MAX_FIELDS) fields.push({ name: name.toLowerCase(), value: value.trim() })
    }
    at = next
  }
  return { fields, rest: '' }
}

/** Groups of fields with empty lines between them; lines that are no fields end a group. */
export function parseFieldGroups(text: string): (readonly MimeHeaderField[])[] {
  const groups: (readonly MimeHeaderField[])[] = []
  for (const block of text.split(/\n[ \t]*\n/)) {
    let left = block.replace(/^\n+/, '')
    while (left !== '') {
      const { fields, rest } = parseHeaderFields(left)
      if (fields.length > 0) groups.push(fields)
      left = rest === left ? left.slice(left.indexOf('\n') + 1 || left.length) : rest
    }
  }
  return groups
}
