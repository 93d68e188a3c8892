/**
 * What a contact may contain: one rule for each field. A rule takes a value as the client sent it (never undefined or
 * null). It returns the value as it is stored, null if it is empty, or the reason why it is invalid. Pure, linear,
 * never throws.
 */
import { parseAddress } from '#src/mail/address.ts'
import { isTimeZone } from '#src/platform/time-input.ts'

export type FieldRule<T> = (
  value: unknown,
) => { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string }

const MAX_TEXT = 255
const MAX_URL = 2000
const MAX_TAGS = 100
const MAX_TAG = 100
const MAX_ATTRIBUTES_BYTES = 32 * 1024
const MAX_DEPTH = 5
/** Control characters; tabs and line ends are allowed. */
const CONTROL_CHARACTERS = /[^\P{Cc}\t\n\r]/u
const TAG_SEPARATOR = '|'

function valid<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value }
}

function invalid(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason }
}

/** Returns the form that is stored and compared: lower case, trimmed. */
export const emailRule: FieldRule<string> = (value) => {
  if (typeof value !== 'string') return invalid('must be an address')
  const read = parseAddress(value.trim())
  return read.ok ? valid(read.address.address.toLowerCase()) : invalid(read.reason)
}

function bounded(max: number): FieldRule<string | null> {
  return (value) => {
    if (typeof value !== 'string') return invalid('must be a text')
    const text = value.trim()
    if (text.length > max) return invalid(`at most ${max} characters`)
    return CONTROL_CHARACTERS.test(text) ? invalid('has control characters') : valid(text === '' ? null : text)
  }
}

export const textRule: FieldRule<string | null> = bounded(MAX_TEXT)

/** Some clients send the number as a JSON number. */
export const phoneRule: FieldRule<string | null> = (value) =>
  textRule(typeof value === 'number' ? String(value) : value)

export const urlRule: FieldRule<string | null> = (value) => {
  const text = bounded(MAX_URL)(value)
  if (!text.ok || text.value === null) return text
  const isWeb = URL.canParse(text.value) && /^https?:$/.test(new URL(text.value).protocol)
  return isWeb ? text : invalid('must be an address that starts with http:// or https://')
}

export const zoneRule: FieldRule<string | null> = (value) => {
  const text = textRule(value)
  if (!text.ok || text.value === null) return text
  return isTimeZone(text.value) ? text : invalid('must be an IANA time zone such as Europe/Berlin')
}

/** `a|b`, or a list. Duplicates are dropped, the order is kept. */
export const tagsRule: FieldRule<readonly string[]> = (value) => {
  const given: readonly unknown[] | null =
    typeof value === 'string' ? value.split(TAG_SEPARATOR) : Array.isArray(value) ? value : null
  if (given === null || !given.every((tag) => typeof tag === 'string'))
    return invalid('must be texts with | between, or a list of texts')
  const tags = [...new Set(given.map((tag) => tag.trim()).filter((tag) => tag !== ''))]
  if (tags.length > MAX_TAGS) return invalid(`at most ${MAX_TAGS} tags`)
  if (tags.some((tag) => tag.length > MAX_TAG)) return invalid(`a tag has at most ${MAX_TAG} characters`)
  return tags.some((tag) => CONTROL_CHARACTERS.test(tag)) ? invalid('a tag has control characters') : valid(tags)
}

export const attributesRule: FieldRule<Readonly<Record<string, unknown>>> = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return invalid('must be an object')
  if (isDeeper(value, MAX_DEPTH)) return invalid(`nested deeper than ${MAX_DEPTH} levels`)
  return Buffer.byteLength(JSON.stringify(value)) > MAX_ATTRIBUTES_BYTES
    ? invalid(`at most ${MAX_ATTRIBUTES_BYTES} bytes as JSON`)
    : valid(value as Readonly<Record<string, unknown>>)
}

function isDeeper(value: unknown, levels: number): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1)))
  )
}

/** Splits at the first space. */
export function splitName(name: string): { readonly firstName: string; readonly lastName: string | null } {
  const [firstName = '', ...rest] = name.split(/\s+/)
  return { firstName, lastName: rest.length === 0 ? null : rest.join(' ') }
}
