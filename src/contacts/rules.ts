/**
 * What may stand in a contact: one rule for each field. A rule takes a value as it came (never undefined or null) and answers it as it is
 * stored, null where it says nothing, or the reason why it may not be. Pure, linear, never throws.
 */
import { parseAddress } from '#src/mail/address.ts'
import { isZone } from '#src/platform/time-input.ts'

export type Rule<T> = (
  value: unknown,
) => { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string }

const MAX_TEXT = 255
const MAX_URL = 2000
const MAX_TAGS = 100
const MAX_TAG = 100
const MAX_ATTRIBUTES_BYTES = 32 * 1024
const MAX_DEPTH = 5
/** Nobody's name has these. Tabs and line ends may be. */
const CONTROLS = /[^\P{Cc}\t\n\r]/u
const TAG_SEPARATOR = '|'

function good<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value }
}

function bad(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason }
}

/** In the form that is stored and compared: lower case, no space around it. */
export const emailRule: Rule<string> = (value) => {
  if (typeof value !== 'string') return bad('must be an address')
  const read = parseAddress(value.trim())
  return read.ok ? good(read.address.address.toLowerCase()) : bad(read.reason)
}

function bounded(max: number): Rule<string | null> {
  return (value) => {
    if (typeof value !== 'string') return bad('must be a text')
    const text = value.trim()
    if (text.length > max) return bad(`at most ${max} characters`)
    return CONTROLS.test(text) ? bad('has control characters') : good(text === '' ? null : text)
  }
}

export const textRule: Rule<string | null> = bounded(MAX_TEXT)

/** Some clients send digits as a number. */
export const phoneRule: Rule<string | null> = (value) => textRule(typeof value === 'number' ? String(value) : value)

export const urlRule: Rule<string | null> = (value) => {
  const text = bounded(MAX_URL)(value)
  if (!text.ok || text.value === null) return text
  const isWeb = URL.canParse(text.value) && /^https?:$/.test(new URL(text.value).protocol)
  return isWeb ? text : bad('must be an address that starts with http:// or https://')
}

export const zoneRule: Rule<string | null> = (value) => {
  const text = textRule(value)
  if (!text.ok || text.value === null) return text
  return isZone(text.value) ? text : bad('must be an IANA time zone such as Europe/Berlin')
}

/** `a|b`, or a list. Each once, in their order. */
export const tagsRule: Rule<readonly string[]> = (value) => {
  const given: readonly unknown[] | null =
    typeof value === 'string' ? value.split(TAG_SEPARATOR) : Array.isArray(value) ? value : null
  if (given === null || !given.every((tag) => typeof tag === 'string'))
    return bad('must be texts with | between, or a list of texts')
  const tags = [...new Set(given.map((tag) => tag.trim()).filter((tag) => tag !== ''))]
  if (tags.length > MAX_TAGS) return bad(`at most ${MAX_TAGS} tags`)
  if (tags.some((tag) => tag.length > MAX_TAG)) return bad(`a tag has at most ${MAX_TAG} characters`)
  return tags.some((tag) => CONTROLS.test(tag)) ? bad('a tag has control characters') : good(tags)
}

export const attributesRule: Rule<Readonly<Record<string, unknown>>> = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return bad('must be an object')
  if (isDeeper(value, MAX_DEPTH)) return bad(`nested deeper than ${MAX_DEPTH} levels`)
  return Buffer.byteLength(JSON.stringify(value)) > MAX_ATTRIBUTES_BYTES
    ? bad(`at most ${MAX_ATTRIBUTES_BYTES} bytes as JSON`)
    : good(value as Readonly<Record<string, unknown>>)
}

function isDeeper(value: unknown, levels: number): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1)))
  )
}

/** First name up to the first space, last name from there on. */
export function splitName(name: string): { readonly firstName: string; readonly lastName: string | null } {
  const [firstName = '', ...rest] = name.split(/\s+/)
  return { firstName, lastName: rest.length === 0 ? null : rest.join(' ') }
}
