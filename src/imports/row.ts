/**
 * A row of cells read as a contact, by the rules that contacts have (src/contacts/rules.ts). What is wrong with a cell is told with the
 * name of its column, all of a row at once, and the row is not imported. An empty cell says nothing: what is stored stays. Pure; takes any
 * text.
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
  type Rule,
} from '#src/contacts/rules.ts'
import type { ContactRow } from '#src/contacts/save.ts'
import { unguardCell } from '#src/platform/csv.ts'
import { ATTRIBUTE, type Column, type Layout, type Single } from './column-layout.ts'

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

const MAX_SHOWN = 100

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

const READERS: Readonly<Record<Single, CellReader>> = {
  email: readEmail,
  name: readName,
  firstName: by(textRule, 'firstName'),
  lastName: by(textRule, 'lastName'),
  companyName: by(textRule, 'companyName'),
  jobTitle: by(textRule, 'jobTitle'),
  phoneNumber: by(phoneRule, 'phoneNumber'),
  linkedin: by(urlRule, 'linkedin'),
  timezone: by(remembered(zoneRule), 'timezone'),
  tags: by(tagsRule, 'tags'),
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
      errors.push({
        column: null,
        message: `the row has ${cells.length} cells, the header ${columns.length}`,
        value: null,
      })
    for (const { name, index, read } of plan) {
      const text = unguardCell(cells[index] ?? '').trim()
      const message = text === '' ? null : read(draft, text)
      if (message !== null) errors.push({ column: name, message, value: show(text) })
    }
    if (draft.email === '' && !errors.some(({ column }) => column === emailColumn))
      errors.push({ column: emailColumn, message: 'the row has no email address', value: null })
    return errors.length > 0 ? { kind: 'wrong', errors } : finish(draft)
  }
}

function readerOf({ meaning }: Column): CellReader | null {
  if (meaning === 'ignore') return null
  if (!meaning.startsWith(ATTRIBUTE)) return READERS[meaning as Single]
  const name = meaning.slice(ATTRIBUTE.length)
  return (draft, text) => {
    draft.attributes[name] = text
    return text.includes('\0') ? NO_NUL : null
  }
}

/** Cells without a column are no harm while they are empty; else a comma is not quoted and all behind it stands in a wrong place. */
function hasTooMany(cells: readonly string[], width: number): boolean {
  return cells.length > width && cells.slice(width).some((cell) => cell.trim() !== '')
}

function show(text: string): string {
  return text.slice(0, MAX_SHOWN).toWellFormed().replaceAll('\0', '\ufffd')
}

const NO_NUL = 'has a NUL character'

/** All attributes together are judged as those of any other save. */
function finish({ email, profile, attributes, isUnsubscribed }: Draft): RowResult {
  if (Object.keys(attributes).length === 0) return { kind: 'contact', row: { ...profile, email }, isUnsubscribed }
  const read = attributesRule({ ...profile.customAttributes, ...attributes })
  return read.ok
    ? { kind: 'contact', row: { ...profile, email, customAttributes: read.value }, isUnsubscribed }
    : { kind: 'wrong', errors: [{ column: null, message: `the attributes together: ${read.reason}`, value: null }] }
}

function by<K extends keyof Profile>(rule: Rule<NonNullable<Profile[K]> | null>, field: K): CellReader {
  return ({ profile }, text) => {
    const read = rule(text)
    if (read.ok) profile[field] = read.value
    return read.ok ? null : read.reason
  }
}

const MOST_REMEMBERED = 1000

/** For a rule that costs more than all else of a row, and for few different values: what was asked is kept. */
function remembered<T>(rule: Rule<T>): Rule<T> {
  const known = new Map<unknown, ReturnType<Rule<T>>>()
  return (value) => {
    const read = known.get(value) ?? rule(value)
    if (known.size < MOST_REMEMBERED) known.set(value, read)
    return read
  }
}

function readEmail(draft: Draft, text: string): string | null {
  const read = emailRule(text)
  if (read.ok) draft.email = read.value
  return read.ok ? null : read.reason
}

/** Columns for each part of the name say more. */
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
  if (!isStorable(read.value)) return 'has characters that no text may have'
  profile.customAttributes = read.value
  return null
}

/** Undefined where it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** PostgreSQL's jsonb takes it: no NUL, no half of a surrogate pair. It is not deep. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, inner]) => key !== '__proto__' && isStorable(key) && isStorable(inner))
}
