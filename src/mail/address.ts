/**
 * The only parser of e-mail addresses, mailboxes ("Name <a@b>") and lists of mailboxes.
 *
 * Grammar: RFC 5321 §4.1.2 and RFC 5322 §3.4.1 as mail uses them, RFC 6531 for UTF-8 local parts, IDNA for domains (the
 * result always has A-labels). Equivalent spellings give the same result: the domain is lower-cased, and unnecessary
 * quoting of the local part is removed (§4.1.2: "all quoted forms MUST be treated as equivalent", the least quoting is
 * sent). Pure; never throws. Parsing takes linear time, and input that is too long is rejected before it is parsed.
 */
import { domainToASCII } from 'node:url'

export interface Address {
  readonly local: string
  /** Lower case, A-labels. */
  readonly domain: string
  /** `local@domain`, the form that is stored, compared and sent. */
  readonly address: string
  /** The local part is not ASCII: only a server with SMTPUTF8 can accept it. */
  readonly needsSmtputf8: boolean
}

export interface Mailbox {
  readonly email: string
  readonly name: string | null
}

interface ParseFailure {
  readonly ok: false
  readonly reason: string
}
export type AddressResult = ParseFailure | { readonly ok: true; readonly address: Address }
export type MailboxResult = ParseFailure | { readonly ok: true; readonly mailbox: Mailbox }

/**
 * RFC 5321 §4.5.3.1: local part 64 octets, path 256 with angle brackets; RFC 1035 §2.3.4: label 63, name 253 as text.
 */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
const MAX_DOMAIN = 253
const MAX_LABEL = 63
/** Not in a standard: a longer display name is an attack or a mistake. */
const MAX_NAME = 500
/** A name with every character escaped, and an address with some reserve. Longer text is not parsed. */
const MAX_TEXT = 2 * MAX_NAME + 2 * MAX_ADDRESS

/** Controls (with CR, LF, NUL), lone surrogates, line separators, bidirectional marks: invisible and misleading. */
export const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u
const ATOM = /(?:[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]|[^\p{ASCII}\p{Z}])+/u.source
const DOT_ATOM = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, 'u')
const LABEL = /^[a-z0-9-]+$/
const NOT_ASCII = /\P{ASCII}/u
/** ASCII that an international name may contain; other characters ("%", "/", ":") have a meaning for a URL parser. */
const HOST_ASCII = /^(?:[A-Za-z0-9.-]|\P{ASCII})+$/u
const SPACES = /[ \u00a0]+/g

/** Parses a bare address: `local@domain` without name, angle brackets or surrounding space. */
export function parseAddress(text: string): AddressResult {
  if (text.length > MAX_TEXT) return fail(`the address is longer than ${MAX_ADDRESS} octets`)
  if (text === '') return fail('the address is empty')
  if (HIDDEN_CHARACTERS.test(text)) return fail('the address has control or invisible characters')
  // a quoted local part may contain "@", a domain never does: the last one separates them
  const at = text.lastIndexOf('@')
  if (at < 0) return fail('the address has no "@"')
  const local = readLocal(text.slice(0, at))
  if (!local.ok) return local
  const domain = readDomain(text.slice(at + 1))
  if (!domain.ok) return domain
  const address = `${local.value}@${domain.value}`
  if (Buffer.byteLength(address) > MAX_ADDRESS) return fail(`the address is longer than ${MAX_ADDRESS} octets`)
  return {
    ok: true,
    address: { local: local.value, domain: domain.value, address, needsSmtputf8: NOT_ASCII.test(local.value) },
  }
}

/** Parses one mailbox: `a@b`, `<a@b>`, `Name <a@b>`, `"Name, with comma" <a@b>`. Surrounding white space is ignored. */
export function parseMailbox(text: string): MailboxResult {
  if (text.length > MAX_TEXT) return fail('the mailbox is too long')
  if (HIDDEN_CHARACTERS.test(text)) return fail('the mailbox has control or invisible characters')
  const trimmed = text.trim()
  const open = findAngleBracket(trimmed)
  const name = open <= 0 ? { ok: true as const, value: '' } : readName(trimmed.slice(0, open))
  if (!name.ok) return name
  if (open >= 0 && !trimmed.endsWith('>')) return fail('there is text after the ">" or no ">" at all')
  const parsed = parseAddress(open < 0 ? trimmed : trimmed.slice(open + 1, -1).trim())
  if (!parsed.ok) return parsed
  return { ok: true, mailbox: { email: parsed.address.address, name: name.value === '' ? null : name.value } }
}

/**
 * Splits a comma-separated list into mailboxes for `parseMailbox`. Commas in quotes and in angle brackets do not
 * separate; empty entries (`a@b,,c@d`) are ignored.
 */
export function splitMailboxes(text: string): string[] {
  const found: string[] = []
  const addPiece = (from: number, to: number): void => {
    const piece = text.slice(from, to).trim()
    if (piece !== '') found.push(piece)
  }
  let from = 0
  let isQuoted = false
  let isAngled = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x5c && isQuoted) i++ // backslash: the next character is quoted
    else if (c === 0x22) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (c === 0x3c) isAngled = true
    else if (c === 0x3e) isAngled = false
    else if (c === 0x2c && !isAngled) {
      addPiece(from, i)
      from = i + 1
    }
  }
  addPiece(from, text.length)
  return found
}

type ParsedText = ParseFailure | { readonly ok: true; readonly value: string }

function fail(reason: string): ParseFailure {
  return { ok: false, reason }
}

function readLocal(text: string): ParsedText {
  if (text === '') return fail('there is nothing before the "@"')
  // U+FFFD replaces octets that are not UTF-8
  if (text.includes('\ufffd')) return fail('the part before the "@" is not UTF-8')
  const isQuoted = text.startsWith('"')
  const content = isQuoted ? unquote(text) : text
  if (content === null) return fail('the quoted local part is not well formed')
  const isAtom = DOT_ATOM.test(content)
  if (!isQuoted && !isAtom) return fail('the part before the "@" has a character or dot that is not allowed there')
  // nobody has this name, and as a key of a plain object it is the prototype
  if (content === '__proto__') return fail('this local part is not allowed')
  const value = isAtom ? content : `"${content.replace(/["\\]/g, '\\$&')}"`
  if (Buffer.byteLength(value) > MAX_LOCAL) return fail(`the part before the "@" is longer than ${MAX_LOCAL} octets`)
  return { ok: true, value }
}

/** The content of a text that is one quoted-string, or null. Controls are already rejected. */
function unquote(text: string): string | null {
  let content = ''
  for (let i = 1; i < text.length; i++) {
    const c = text[i] ?? ''
    if (c === '"') return i === text.length - 1 ? content : null
    if (c === '\\') i++
    content += text[i] ?? ''
  }
  return null
}

function readDomain(text: string): ParsedText {
  if (text === '') return fail('there is nothing after the "@"')
  if (text.startsWith('[')) return fail('an address literal is not a mail domain here')
  if (text.length > MAX_DOMAIN) return fail(`the domain is longer than ${MAX_DOMAIN} octets`)
  if (!HOST_ASCII.test(text)) return fail('the domain has a character that is not allowed in a host name')
  const domain = NOT_ASCII.test(text) ? domainToASCII(text) : text.toLowerCase()
  if (domain === '') return fail('the international domain name is not valid')
  if (domain.length > MAX_DOMAIN) return fail(`the domain is longer than ${MAX_DOMAIN} octets`)
  const labels = domain.split('.')
  if (labels.length < 2) return fail('the domain has no dot')
  if (!labels.every(isLabel)) return fail('the domain has an invalid label')
  if (/^\d+$/.test(labels.at(-1) ?? '')) return fail('the domain is a number, not a name')
  return { ok: true, value: domain }
}

function isLabel(label: string): boolean {
  return label.length <= MAX_LABEL && LABEL.test(label) && !label.startsWith('-') && !label.endsWith('-')
}

/** The position of the opening angle bracket outside of quotes, or -1. */
function findAngleBracket(text: string): number {
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x5c && isQuoted) i++
    else if (c === 0x22) isQuoted = !isQuoted
    else if (c === 0x3c && !isQuoted) return i
  }
  return -1
}

/**
 * Parses the display name before the angle bracket. Unquoted dots, apostrophes and "@" are accepted, because people
 * write them. An unquoted comma or semicolon is rejected: the text is a list, not one mailbox.
 */
function readName(text: string): ParsedText {
  let name = ''
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? ''
    if (c === '"') {
      isQuoted = !isQuoted
    } else if (isQuoted && c === '\\') {
      name += text[++i] ?? ''
    } else if (!isQuoted && (c === ',' || c === ';' || c === '>')) {
      return fail(`the name has a "${c}" outside of quotes`)
    } else {
      name += c
    }
  }
  const value = name.replace(SPACES, ' ').trim()
  return value.length > MAX_NAME ? fail(`the name is longer than ${MAX_NAME} characters`) : { ok: true, value }
}
