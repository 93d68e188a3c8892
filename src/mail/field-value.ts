/** Values of header fields for people: decoded, without line ends. One character of a field is one octet. Pure. */
import type { Mailbox } from './address.ts'
import { decodeHeaderText, decodeOctets, decodeWords } from './header-text.ts'
import type { HeaderField } from './split-message.ts'

/** What follows the colon, as it is on the wire; '' without a field. */
export function valueOf(field: HeaderField | undefined): string {
  return field === undefined ? '' : field.line.slice(field.line.indexOf(':') + 1)
}

/** The value unfolded, decoded and without comments (RFC 5322 3.2.2); at most its first `max` octets. */
export function fieldText(field: HeaderField, max = Infinity): string {
  const value = valueOf(field).slice(0, max)
  const text = decodeOctets(value.replaceAll(/\r?\n/g, '').replaceAll('\t', ' '))
  return text.includes('(') ? withoutComments(text) : text
}

function withoutComments(text: string): string {
  let result = ''
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i)
    if (c === '\\') {
      if (depth === 0) result += text.slice(i, i + 2)
      i++
      continue
    }
    if (c === '"' && depth === 0) isQuoted = !isQuoted
    if (c === '(' && !isQuoted) depth++
    if (depth === 0) result += c
    if (c === ')' && depth > 0) depth--
  }
  return result
}

/** The mailbox with its name without encoded words. */
export function decodedMailbox({ email, name }: Mailbox): Mailbox {
  return {
    email,
    name: name === null ? null : decodeHeaderText(Buffer.from(decodeWords(name)).toString('latin1')) || null,
  }
}
