/**
 * Reads a row of cells as a contact, by the rules for contact fields (src/contacts/field-rules.ts). All errors of a row
 * are reported together, each with its column, and the row is not imported. An empty cell leaves the stored value
 * unchanged. Pure; accepts any text.
 */
import type { Profile } from '#src/contacts/profile.ts'
import {
  attributesRule,
  emailRule,
  phoneRule,
  splitName,
  tagsRule,
  textRule,
  urlRule,
  zoneRule,
  type FieldRule,
} from '#src/contacts/field-rules.ts'
import type { ContactRow } from '#src/contacts/save-contacts.ts'
import { unescapeFormula } from '#src/platform/csv.ts'
import { ATTRIBUTE_PREFIX, type LayoutColumn, type Layout, type StandardMeaning } from './column-layout.ts'

export interface CellError {
  readonly column: string | null
  readonly message: string
  /** The first characters of the cell. */
  readonly value: string | null
}

export type RowResult =
  | { readonly kind: 'contact'; readonly row: ContactRow; readonly isUnsubscribed: boolean }
  /** All cells are empty: spreadsheets write such rows. */
  | { readonly kind: 'blank' }
  | { readonly kind: 'wrong'; readonly errors: readonly CellError[] }

const MAX_EXCERPT = 100

/** The contact that a row is read into. */
interface Draft {
  email: string
  isUnsubscribed: boolean
  profile: { -readonly [K in keyof Profile]: Profile[K] }
  /** Attributes from columns of their own; they override those from a JSON column. */
  attributes: Record<string, string>
}

/** Takes the text of a cell, trimmed and not empty. Returns the error, or null. */
type CellReader = (draft: Draft, text: string) => string | null

const READERS: Readonly<Record<StandardMeaning, CellReader>> = {
  email: readEmail,
  name: readName,
  firstName: fieldReader(textRule, 'firstName'),
  lastName: fieldReader(textRule, 'lastName'),
  companyName: fieldReader(textRule, 'companyName'),
  jobTitle: fieldReader(textRule, 'jobTitle'),
  phoneNumber: fieldReader(phoneRule, 'phoneNumber'),
  linkedin: fieldReader(urlRule, 'linkedin'),
  timezone: fieldReader(memoize(zoneRule), 'timezone'),
  tags: fieldReader(tagsRule, 'tags'),
  status: readStatus,
  customAttributes: readAttributes,
}

/** Creates the function that reads all rows of a file. */
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
      errors.push({
        column: null,
        message: `the row has ${cells.length} cells, the header ${columns.length}`,
        value: null,
      })
    for (const { name, index, read } of plan) {
      const text = unescapeFormula(cells[index] ?? '').trim()
      const message = text === '' ? null : read(draft, text)
      if (message !== null) errors.push({ column: name, message, value: excerpt(text) })
    }
    if (draft.email === '' && !errors.some(({ column }) => column === emailColumn))
      errors.push({ column: emailColumn, message: 'the row has no email address', value: null })
    return errors.length > 0 ? { kind: 'wrong', errors } : finishRow(draft)
  }
}

function readerOf({ meaning }: LayoutColumn): CellReader | null {
  if (meaning === 'ignore') return null
  if (!meaning.startsWith(ATTRIBUTE_PREFIX)) return READERS[meaning as StandardMeaning]
  const name = meaning.slice(ATTRIBUTE_PREFIX.length)
  return (draft, text) => {
    draft.attributes[name] = text
    return text.includes('\0') ? HAS_NUL : null
  }
}

/**
 * Extra cells are harmless while they are empty. Otherwise a comma is probably not quoted, and every cell after it is
 * in the wrong column.
 */
function hasTooMany(cells: readonly string[], width: number): boolean {
  return cells.length > width && cells.slice(width).some((cell) => cell.trim() !== '')
}

function excerpt(text: string): string {
  return text.slice(0, MAX_EXCERPT).toWellFormed().replaceAll('\0', '\ufffd')
}

const HAS_NUL = 'has a NUL character'

/** Validates all attributes together, as for any other save. */
function finishRow({ email, profile, attributes, isUnsubscribed }: Draft): RowResult {
  if (Object.keys(attributes).length === 0) return { kind: 'contact', row: { ...profile, email }, isUnsubscribed }
  const read = attributesRule({ ...profile.customAttributes, ...attributes })
  return read.ok
    ? { kind: 'contact', row: { ...profile, email, customAttributes: read.value }, isUnsubscribed }
    : { kind: 'wrong', errors: [{ column: null, message: `all attributes together: ${read.reason}`, value: null }] }
}

function fieldReader<K extends keyof Profile>(rule: FieldRule<NonNullable<Profile[K]> | null>, field: K): CellReader {
  return ({ profile }, text) => {
    const read = rule(text)
    if (read.ok) profile[field] = read.value
    return read.ok ? null : read.reason
  }
}

const MAX_MEMOIZED = 1000

/** Caches the results of a rule that is expensive and sees few different values. */
function memoize<T>(rule: FieldRule<T>): FieldRule<T> {
  const known = new Map<unknown, ReturnType<FieldRule<T>>>()
  return (value) => {
    const read = known.get(value) ?? rule(value)
    if (known.size < MAX_MEMOIZED) known.set(value, read)
    return read
  }
}

function readEmail(draft: Draft, text: string): string | null {
  const read = emailRule(text)
  if (read.ok) draft.email = read.value
  return read.ok ? null : read.reason
}

/** Separate columns for first and last name take precedence. */
function readName({ profile }: Draft, text: string): string | null {
  const read = textRule(text)
  if (!read.ok || read.value === null) return read.ok ? null : read.reason
  const { firstName, lastName } = splitName(read.value)
  profile.firstName ??= firstName
  profile.lastName ??= lastName ?? undefined
  return null
}

const STATUSES: ReadonlyMap<string, boolean> = new Map([
  ['subscribed', false],
  ['unsubscribed', true],
])

function readStatus(draft: Draft, text: string): string | null {
  const isUnsubscribed = STATUSES.get(text.toLowerCase())
  draft.isUnsubscribed = isUnsubscribed ?? false
  return isUnsubscribed === undefined ? 'must be subscribed or unsubscribed' : null
}

function readAttributes({ profile }: Draft, text: string): string | null {
  const read = attributesRule(parseJson(text))
  if (!read.ok) return `${read.reason}, as JSON`
  if (!isStorable(read.value)) return 'contains characters that cannot be stored'
  profile.customAttributes = read.value
  return null
}

/** Undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** True if PostgreSQL can store the value as jsonb: no NUL, no unpaired surrogate. The depth is limited before. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, inner]) => key !== '__proto__' && isStorable(key) && isStorable(inner))
}
