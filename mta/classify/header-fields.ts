/**
 * Parses header fields and the field groups of delivery and feedback reports (RFC 5322 2.2, RFC 3464 2.1). It unfolds
 * lines, tolerates malformed input, and limits number and length of fields.
 */

export interface MimeHeaderField {
  /** Lower case. */
  readonly name: string
  /** Unfolded; lines joined by one space. */
  readonly value: string
}

const FIELD_LINE = /^([!-9;-~]+)[ \t]*:[ \t]*(.*)$/
/** Limits for the length of a value and the number of fields; real headers are shorter. */
const MAX_VALUE = 8000
const MAX_FIELDS = 500
/** A parameter on its own line, without the leading space of a continuation line. */
const LOOSE_PARAMETER = /^(?:boundary|charset|report-type|name)\s*=/i

/**
 * Parses the fields at the start of a text. `rest` follows the empty line; it is the whole text if there is no field.
 */
export function parseHeaderFields(text: string): {
  readonly fields: readonly MimeHeaderField[]
  readonly rest: string
} {
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
      // mbox files and some relays start with such a line
      if (field === null && !/^>?From /.test(line))
        return fields.length === 0 ? { fields, rest: text } : { fields, rest: text.slice(at) }
      const [, name = '', value = ''] = field ?? []
      if (field !== null && fields.length < MAX_FIELDS) fields.push({ name: name.toLowerCase(), value: value.trim() })
    }
    at = next
  }
  return { fields, rest: '' }
}

/** Parses groups of fields separated by empty lines. A line that is not a field ends a group. */
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
