/**
 * The one address rule of the product: what an e-mail address is, and how a
 * written mailbox ("Name <a@b>") or a list of them is taken apart.
 *
 * Grammar: RFC 5321 §4.1.2 and RFC 5322 §3.4.1 as mail uses them, RFC 6531 for UTF-8 local parts,
 * IDNA for domains (always A-labels behind this door). Two spellings of one mailbox come out as one:
 * the domain is lower-cased, needless quoting of the local part goes (§4.1.2: "all quoted forms MUST
 * be treated as equivalent", the least quoting is sent). Pure; never throws; every input costs
 * linear time and anything over-long is refused before it is looked at.
 */
import { domainToASCII } from 'node:url'

export interface Address {
  readonly local: string
  /** Lower case, A-labels. */
  readonly domain: string
  /** `local@domain`, the form that is stored, compared and sent. */
  readonly address: string
  /** The local part is not ASCII: only a server with SMTPUTF8 can take it. */
  readonly needsSmtputf8: boolean
}

export interface Mailbox {
  readonly email: string
  readonly name: string | null
}

interface Refusal {
  readonly ok: false
  readonly reason: string
}
export type AddressResult = Refusal | { readonly ok: true; readonly address: Address }
export type MailboxResult = Refusal | { readonly ok: true; readonly mailbox: Mailbox }

/** RFC 5321 §4.5.3.1: local part 64 octets, path 256 with its angle brackets; RFC 1035 §2.3.4: label 63, name 253 as text. */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
const MAX_DOMAIN = 253
const MAX_LABEL = 63
/** Ours: a longer display name is an attack or an accident. */
const MAX_NAME = 500
/** A name with every character escaped, an address, and room; what is longer is not read at all. */
const MAX_TEXT = 2 * MAX_NAME + 2 * MAX_ADDRESS

/** Controls (CR, LF, NUL among them), lone surrogates, line separators, marks that turn text around: none can be seen, all can mislead. */
const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u
const DOT_ATOM =
  /^(?:[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]|[^\p{ASCII}\p{Z}])+(?:\.(?:[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]|[^\p{ASCII}\p{Z}])+)*$/u
const LABEL = /^[a-z0-9-]+$/
const NOT_ASCII = /\P{ASCII}/u
/** ASCII that may stand between the characters of an international name; the rest ("%", "/", ":") would mean something to a URL parser. */
const HOST_ASCII = /^(?:[A-Za-z0-9.-]|\P{ASCII})+$/u
const SPACES = /[ \u00a0]+/g

/** Reads one bare address (`local@domain`, no name, no angle brackets, no space around it). */
export function parseAddress(text: string): AddressResult {
  if (text.length > MAX_TEXT) return refuse(`the address is longer than ${MAX_ADDRESS} octets`)
  if (text === '') return refuse('the address is empty')
  if (HIDDEN.test(text)) return refuse('the address has control or invisible characters')
  // A domain never holds an "@", a quoted local part may: the last one divides.
  const at = text.lastIndexOf('@')
  if (at < 0) return refuse('the address has no "@"')
  const local = readLocal(text.slice(0, at))
  if (!local.ok) return local
  const domain = readDomain(text.slice(at + 1))
  if (!domain.ok) return domain
  const address = `${local.value}@${domain.value}`
  if (Buffer.byteLength(address) > MAX_ADDRESS) return refuse(`the address is longer than ${MAX_ADDRESS} octets`)
  return {
    ok: true,
    address: { local: local.value, domain: domain.value, address, needsSmtputf8: NOT_ASCII.test(local.value) },
  }
}

/** Reads one mailbox: `a@b`, `<a@b>`, `Name <a@b>`, `"Name, with comma" <a@b>`. White space around it is dropped. */
export function parseMailbox(text: string): MailboxResult {
  if (text.length > MAX_TEXT) return refuse('the mailbox is too long')
  if (HIDDEN.test(text)) return refuse('the mailbox has control or invisible characters')
  const trimmed = text.trim()
  const open = findOpen(trimmed)
  const name = open <= 0 ? { ok: true as const, value: '' } : readName(trimmed.slice(0, open))
  if (!name.ok) return name
  if (open >= 0 && !trimmed.endsWith('>')) return refuse('there is text after the ">" or no ">" at all')
  const parsed = parseAddress(open < 0 ? trimmed : trimmed.slice(open + 1, -1).trim())
  if (!parsed.ok) return parsed
  return { ok: true, mailbox: { email: parsed.address.address, name: name.value === '' ? null : name.value } }
}

/**
 * Cuts a comma-separated list into its mailboxes, each still to be read by `parseMailbox`.
 * Commas in quotes and in angle brackets do not cut; empty places (`a@b,,c@d`) are dropped.
 */
export function splitMailboxes(text: string): string[] {
  const found: string[] = []
  const keep = (from: number, to: number): void => {
    const piece = text.slice(from, to).trim()
    if (piece !== '') found.push(piece)
  }
  let from = 0
  let isQuoted = false
  let isAngled = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x5c && isQuoted) i++ // backslash: the next one is quoted
    else if (c === 0x22) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (c === 0x3c) isAngled = true
    else if (c === 0x3e) isAngled = false
    else if (c === 0x2c && !isAngled) {
      keep(from, i)
      from = i + 1
    }
  }
  keep(from, text.length)
  return found
}

type Piece = Refusal | { readonly ok: true; readonly value: string }

function refuse(reason: string): Refusal {
  return { ok: false, reason }
}

function readLocal(text: string): Piece {
  if (text === '') return refuse('there is nothing before the "@"')
  // what stands for octets that were no text
  if (text.includes('\ufffd')) return refuse('the part before the "@" is not UTF-8')
  const isQuoted = text.startsWith('"')
  const content = isQuoted ? unquote(text) : text
  if (content === null) return refuse('the quoted local part is not well formed')
  const isAtom = DOT_ATOM.test(content)
  if (!isQuoted && !isAtom) return refuse('the part before the "@" has characters or dots where none may be')
  // No person is called so, and in a plain object it is no key but the prototype.
  if (content === '__proto__') return refuse('the local part is not one that mail can have')
  const value = isAtom ? content : `"${content.replace(/["\\]/g, '\\$&')}"`
  if (Buffer.byteLength(value) > MAX_LOCAL) return refuse(`the part before the "@" is longer than ${MAX_LOCAL} octets`)
  return { ok: true, value }
}

/** The content of a quoted-string that fills the whole text, or null. Controls were refused before. */
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

function readDomain(text: string): Piece {
  if (text === '') return refuse('there is nothing after the "@"')
  if (text.startsWith('[')) return refuse('an address literal is not a mail domain here')
  if (text.length > MAX_DOMAIN) return refuse(`the domain is longer than ${MAX_DOMAIN} octets`)
  if (!HOST_ASCII.test(text)) return refuse('the domain has characters that no host name has')
  const domain = NOT_ASCII.test(text) ? domainToASCII(text) : text.toLowerCase()
  if (domain === '') return refuse('the international domain name is not valid')
  if (domain.length > MAX_DOMAIN) return refuse(`the domain is longer than ${MAX_DOMAIN} octets`)
  const labels = domain.split('.')
  if (labels.length < 2) return refuse('the domain has no dot')
  if (!labels.every(isLabel)) return refuse('the domain has a label that no host name has')
  if (/^\d+$/.test(labels.at(-1) ?? '')) return refuse('the domain is a number, not a name')
  return { ok: true, value: domain }
}

function isLabel(label: string): boolean {
  return label.length <= MAX_LABEL && LABEL.test(label) && !label.startsWith('-') && !label.endsWith('-')
}

/** Where the angle bracket of the address opens (outside of quotes), or -1. */
function findOpen(text: string): number {
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
 * The display name in front of the angle bracket. Dots, apostrophes, even an "@" are let through (people write them);
 * an unquoted comma or semicolon is refused: it is a list that wants to pass for one mailbox.
 */
function readName(text: string): Piece {
  let name = ''
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? ''
    if (c === '"') {
      isQuoted = !isQuoted
    } else if (isQuoted && c === '\\') {
      name += text[++i] ?? ''
    } else if (!isQuoted && (c === ',' || c === ';' || c === '>')) {
      return refuse(`the name has a "${c}" outside of quotes`)
    } else {
      name += c
    }
  }
  const value = name.replace(SPACES, ' ').trim()
  return value.length > MAX_NAME ? refuse(`the name is longer than ${MAX_NAME} characters`) : { ok: true, value }
}
