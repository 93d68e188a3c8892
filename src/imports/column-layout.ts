/**
 * Determines the columns of a file: finds the delimiter, reads the header line, and assigns each column a meaning, from
 * the mapping in the request or else from the column's name. This happens once, when the first bytes of the upload have
 * arrived; the layout is stored with the import. Errors name the column. Pure; a hostile header costs no more than its
 * 64 KB.
 */
import { parse } from 'csv-parse/sync'
import { unescapeFormula } from '#src/platform/csv.ts'
import type { Detail } from '#src/platform/errors.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

/**
 * The meaning of a column: a field of the contact, `name` (split into first and last), `tags`, `status`,
 * `customAttributes` (JSON), `attribute:<name>`, or `ignore`.
 */
export type ColumnMeaning = StandardMeaning | `attribute:${string}` | 'ignore'

export interface Layout {
  readonly delimiter: string
  /** In the order of the file. */
  readonly columns: readonly LayoutColumn[]
}

export interface LayoutColumn {
  /** The name in the header. */
  readonly name: string
  readonly meaning: ColumnMeaning
}

export interface LayoutOptions {
  /** Column names and their meanings, as the client sent them; null means ignore. */
  readonly mapping: Readonly<Record<string, string | null>>
  /** What to do with a column that neither the mapping nor its name explains. */
  readonly unknownColumns: 'ignore' | 'attributes'
}

export type LayoutResult =
  | { readonly ok: true; readonly layout: Layout }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Longest header line, in characters. */
const MAX_HEADER = 64 * 1024
const MAX_COLUMNS = 200
const DELIMITERS = [',', ';', '\t', '|'] as const
export const ATTRIBUTE_PREFIX = 'attribute:'
const MAX_ATTRIBUTE_NAME = 100

/** Accepted spellings of each meaning in a header or mapping. Only letters and digits count; case is ignored. */
const SPELLINGS = {
  email: ['email', 'emailaddress', 'mail', 'mailaddress'],
  name: ['name', 'fullname'],
  firstName: ['firstname', 'givenname', 'forename', 'fname'],
  lastName: ['lastname', 'surname', 'familyname', 'lname'],
  companyName: ['companyname', 'company', 'organization', 'organisation'],
  jobTitle: ['jobtitle', 'job', 'title', 'position', 'role'],
  phoneNumber: ['phonenumber', 'phone', 'telephone', 'tel', 'mobile'],
  linkedin: ['linkedin', 'linkedinurl', 'linkedinprofile'],
  timezone: ['timezone', 'tz'],
  tags: ['tags', 'tag'],
  status: ['status', 'subscriptionstatus'],
  customAttributes: ['customattributes', 'attributes'],
} as const
export type StandardMeaning = keyof typeof SPELLINGS
/** Columns of the contact export that cannot be set. */
const READ_ONLY = new Set([
  'id',
  'contactid',
  'globalstatus',
  'deliverabilityscore',
  'emailverificationdate',
  'createdat',
  'updatedat',
])
const MEANINGS: ReadonlyMap<string, StandardMeaning> = new Map(
  Object.entries(SPELLINGS).flatMap(([meaning, spellings]) =>
    spellings.map((spelling) => [spelling, meaning as StandardMeaning]),
  ),
)

/** `start` is the beginning of the file: at least `MAX_HEADER` characters, or all of it. */
export function readLayout(start: string, options: LayoutOptions): LayoutResult {
  const header = readHeader(start)
  if (header === null) return invalidLayout('', 'the file has no header line, or the line is not valid CSV')
  if (header.names.length > MAX_COLUMNS)
    return invalidLayout('', `the header has ${header.names.length} columns; at most ${MAX_COLUMNS}`)
  const { meanings: mapping, details } = readMapping(options.mapping, header.names)
  const columns = assignMeanings(header.names, mapping, options.unknownColumns)
  if (!columns.some(({ meaning }) => meaning === 'email')) details.push(missingEmail(header.names))
  return details.length > 0 ? { ok: false, details } : { ok: true, layout: { delimiter: header.delimiter, columns } }
}

function invalidLayout(path: string, message: string): LayoutResult {
  return { ok: false, details: [{ path, message }] }
}

interface HeaderLine {
  readonly names: readonly string[]
  readonly delimiter: string
}

/** Chooses the delimiter that yields an email column; among several, the one that yields most columns. */
function readHeader(start: string): HeaderLine | null {
  const headers = DELIMITERS.flatMap((delimiter) => {
    const names = splitHeader(start.slice(0, MAX_HEADER + 2), delimiter)
    return names === null ? [] : [{ names, delimiter, weight: names.length + (names.some(isEmail) ? MAX_HEADER : 0) }]
  })
  return headers.toSorted((a, b) => b.weight - a.weight)[0] ?? null
}

const isEmail = (name: string): boolean => MEANINGS.get(normalizeName(name)) === 'email'

function splitHeader(text: string, delimiter: string): string[] | null {
  try {
    const options = {
      delimiter,
      to: 1,
      relax_quotes: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_HEADER,
    }
    const [names] = parse(text, { ...options, record_delimiter: ['\r\n', '\n', '\r'] })
    return names === undefined ? null : names.map((name) => unescapeFormula(name).trim())
  } catch {
    return null
  }
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

const ACCEPTED = [...Object.keys(SPELLINGS), `${ATTRIBUTE_PREFIX}<name>`, 'ignore']

interface ReadMapping {
  readonly meanings: ReadonlyMap<number, ColumnMeaning>
  readonly details: Detail[]
}

/** The mapping by column index. Each meaning may be used once. */
function readMapping(mapping: LayoutOptions['mapping'], names: readonly string[]): ReadMapping {
  const meanings = new Map<number, ColumnMeaning>()
  const details: Detail[] = []
  for (const [name, value] of Object.entries(mapping)) {
    const index = findColumn(names, name)
    const meaning = readMeaning(value)
    const path = `mapping.${name.slice(0, 100)}`
    if (index < 0) details.push({ path, message: 'the file has no such column' })
    else if (meaning === null) details.push({ path, message: oneOfText(ACCEPTED, value) })
    else if (meaning !== 'ignore' && [...meanings.values()].includes(meaning))
      details.push({ path, message: 'another column already has this meaning' })
    else meanings.set(index, meaning)
  }
  return { meanings, details }
}

function findColumn(names: readonly string[], name: string): number {
  const exact = names.indexOf(name.trim())
  return exact >= 0 ? exact : names.findIndex((other) => other.toLowerCase() === name.trim().toLowerCase())
}

function readMeaning(value: string | null): ColumnMeaning | null {
  if (value === null || normalizeName(value) === 'ignore') return 'ignore'
  if (value.toLowerCase().startsWith(ATTRIBUTE_PREFIX)) return attributeOf(value.slice(ATTRIBUTE_PREFIX.length))
  return MEANINGS.get(normalizeName(value)) ?? null
}

function attributeOf(name: string): ColumnMeaning | null {
  const trimmed = name.trim()
  const isValid =
    trimmed !== '' && trimmed !== '__proto__' && trimmed.length <= MAX_ATTRIBUTE_NAME && !trimmed.includes('\0')
  return isValid ? `${ATTRIBUTE_PREFIX}${trimmed}` : null
}

/** A second column with the same name or meaning is ignored. */
function assignMeanings(
  names: readonly string[],
  mapping: ReadonlyMap<number, ColumnMeaning>,
  unknown: LayoutOptions['unknownColumns'],
): LayoutColumn[] {
  const used = new Set<ColumnMeaning>(mapping.values())
  return names.map((name, i) => {
    const mapped = mapping.get(i)
    if (mapped !== undefined) return { name, meaning: mapped }
    const meaning = guess(name, unknown)
    const isUnused = !used.has(meaning)
    if (isUnused) used.add(meaning)
    return { name, meaning: isUnused ? meaning : 'ignore' }
  })
}

function guess(name: string, unknown: LayoutOptions['unknownColumns']): ColumnMeaning {
  if (name.toLowerCase().startsWith(ATTRIBUTE_PREFIX))
    return attributeOf(name.slice(ATTRIBUTE_PREFIX.length)) ?? 'ignore'
  const known = MEANINGS.get(normalizeName(name))
  if (known !== undefined) return known
  return unknown === 'ignore' || READ_ONLY.has(normalizeName(name)) ? 'ignore' : (attributeOf(name) ?? 'ignore')
}

function missingEmail(names: readonly string[]): Detail {
  const shown = names
    .slice(0, 10)
    .map((name) => JSON.stringify(name.slice(0, 40)))
    .join(', ')
  return { path: 'mapping', message: `no column is the email address; the header has ${shown}` }
}
