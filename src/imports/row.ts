/**
 * A row of cells read as a contact. What is wrong with a cell is told with the name of its column, all of a row at once, and the row is not
 * imported. An empty cell says nothing: what is stored stays. Pure; takes any text.
 */
import { IANAZone } from 'luxon'
import type { Profile } from '#src/contacts/profile.ts'
import type { ContactRow } from '#src/contacts/save.ts'
import { unguardCell } from '#src/csv.ts'
import { parseAddress } from '#src/mail/address.ts'
import { ATTRIBUTE, type Column, type Layout, type Single } from './layout.ts'

export interface CellError {
  readonly column: string | null
  readonly message: string
  /** The beginning of the cell. */
  readonly value: string | null
}

export type RowResult =
  | { readonly kind: 'contact'; readonly row: ContactRow; readonly isUnsubscribed: boolean }
  /** Nothing in any cell: spreadsheets write such rows. */
  | { readonly kind: 'blank' }
  | { readonly kind: 'wrong'; readonly errors: readonly CellError[] }

const MAX_TEXT = 255
const MAX_URL = 2000
const MAX_TAGS = 100
const MAX_TAG = 100
const MAX_ATTRIBUTES_BYTES = 32 * 1024
const MAX_DEPTH = 5
const MAX_SHOWN = 100
/** Nobody's name has these, and PostgreSQL's text cannot hold NUL. Tabs and line ends may be. */
const CONTROLS = /[^\P{Cc}\t\n\r]/u

/** What a row becomes. */
interface Draft {
  email: string
  isUnsubscribed: boolean
  profile: { -readonly [K in keyof Profile]: Profile[K] }
  /** Of columns that are one attribute each: they go before those of a column of JSON. */
  attributes: Record<string, string>
}

/** Takes the text of a cell, trimmed and not empty; answers what is wrong with it. */
type CellReader = (draft: Draft, text: string) => string | null

type TextField = 'firstName' | 'lastName' | 'companyName' | 'jobTitle' | 'phoneNumber' | 'linkedin'

const READERS: Readonly<Record<Single, CellReader>> = {
  email: readEmail,
  name: readName,
  firstName: textOf('firstName'),
  lastName: textOf('lastName'),
  companyName: textOf('companyName'),
  jobTitle: textOf('jobTitle'),
  phoneNumber: textOf('phoneNumber'),
  linkedin: textOf('linkedin', MAX_URL),
  timezone: readTimezone,
  tags: readTags,
  status: readStatus,
  customAttributes: readAttributes,
}

/** The reader of all rows of a file. */
export function createRowReader({ columns }: Layout): (cells: readonly string[]) => RowResult {
  const plan = columns.flatMap((column, index) => {
    const read = readerOf(column)
    return read === null ? [] : [{ name: column.name, index, read }]
  })
  const emailColumn = columns.find(({ meaning }) => meaning === 'email')?.name ?? null
  return (cells) => {
    if (cells.every((cell) => cell.trim() === '')) return { kind: 'blank' }
    const draft: Draft = { email: '', isUnsubscribed: false, profile: {}, attributes: {} }
    const errors: CellError[] = []
    if (hasTooMany(cells, columns.length))
      errors.push({ column: null, message: `the row has ${cells.length} cells, the header ${columns.length}`, value: null })
    for (const { name, index, read } of plan) {
      const text = unguardCell(cells[index] ?? '').trim()
      const message = text === '' ? null : judgeText(text) ?? read(draft, text)
      if (message !== null) errors.push({ column: name, message, value: show(text) })
    }
    if (draft.email === '' && !errors.some(({ column }) => column === emailColumn))
      errors.push({ column: emailColumn, message: 'the row has no email address', value: null })
    return errors.length > 0 ? { kind: 'wrong', errors } : { kind: 'contact', ...finish(draft) }
  }
}

function readerOf({ meaning }: Column): CellReader | null {
  if (meaning === 'ignore') return null
  if (!meaning.startsWith(ATTRIBUTE)) return READERS[meaning as Single]
  const name = meaning.slice(ATTRIBUTE.length)
  return (draft, text) => {
    draft.attributes[name] = text
    return null
  }
}

/** Cells without a column are no harm while they are empty; else a comma is not quoted and all behind it stands in a wrong place. */
function hasTooMany(cells: readonly string[], width: number): boolean {
  return cells.length > width && cells.slice(width).some((cell) => cell.trim() !== '')
}

function judgeText(text: string): string | null {
  return CONTROLS.test(text) ? 'has control characters' : null
}

function show(text: string): string {
  return text.slice(0, MAX_SHOWN).toWellFormed().replaceAll('\0', '\ufffd')
}

function finish({ email, profile, attributes, isUnsubscribed }: Draft): { row: ContactRow; isUnsubscribed: boolean } {
  const own = Object.keys(attributes).length === 0 ? null : attributes
  const customAttributes = own === null ? profile.customAttributes : { ...profile.customAttributes, ...own }
  return { row: { ...profile, email, customAttributes }, isUnsubscribed }
}

function readEmail(draft: Draft, text: string): string | null {
  const read = parseAddress(text)
  if (read.ok) draft.email = read.address.address.toLowerCase()
  return read.ok ? null : read.reason
}

function textOf(field: TextField, max = MAX_TEXT): CellReader {
  return (draft, text) => {
    draft.profile[field] = text
    return text.length > max ? `is longer than ${max} characters` : null
  }
}

/** The first word, and the rest; columns for each part say more. */
function readName({ profile }: Draft, text: string): string | null {
  const [, first = text, last = null] = /^(\S+)\s+(.*)$/s.exec(text) ?? []
  profile.firstName ??= first
  profile.lastName ??= last ?? undefined
  return text.length > MAX_TEXT ? `is longer than ${MAX_TEXT} characters` : null
}

function readTags({ profile }: Draft, text: string): string | null {
  const tags = [...new Set(text.split('|').map((tag) => tag.trim()).filter((tag) => tag !== ''))]
  profile.tags = tags
  if (tags.length > MAX_TAGS) return `has more than ${MAX_TAGS} tags`
  return tags.some((tag) => tag.length > MAX_TAG) ? `has a tag of more than ${MAX_TAG} characters` : null
}

const STATUSES: ReadonlyMap<string, boolean> = new Map([['subscribed', false], ['unsubscribed', true]])

function readStatus(draft: Draft, text: string): string | null {
  const isUnsubscribed = STATUSES.get(text.toLowerCase())
  draft.isUnsubscribed = isUnsubscribed ?? false
  return isUnsubscribed === undefined ? 'must be subscribed or unsubscribed' : null
}

const TIMEZONES = new Map<string, boolean>()
const MAX_TIMEZONES = 2000

/** What was asked is remembered: asking costs more than all else of a row. */
function readTimezone({ profile }: Draft, text: string): string | null {
  profile.timezone = text
  const known = TIMEZONES.get(text) ?? IANAZone.isValidZone(text)
  if (TIMEZONES.size < MAX_TIMEZONES) TIMEZONES.set(text, known)
  return known ? null : 'is no IANA time zone'
}

function readAttributes({ profile }: Draft, text: string): string | null {
  if (Buffer.byteLength(text) > MAX_ATTRIBUTES_BYTES) return `is larger than ${MAX_ATTRIBUTES_BYTES} bytes`
  const value = parseJson(text)
  if (!isObject(value) || !isStorable(value, MAX_DEPTH)) return `must be a JSON object, at most ${MAX_DEPTH} levels deep, without NUL`
  profile.customAttributes = value
  return null
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** PostgreSQL's jsonb takes it. */
function isStorable(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return isStorableText(value)
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.entries(value).every(([key, inner]) => key !== '__proto__' && isStorableText(key) && isStorable(inner, depth - 1))
}

function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
