/**
 * What the columns of a file are: its delimiter is found out, its header line read, each column given a meaning, by the mapping of the
 * order first, then by its name. Read once, when the first bytes of the upload are there, and kept with the import. Whatever is wrong is
 * told with the name of the column. Pure; a hostile header costs no more than its 64 KB.
 */
import { parse } from 'csv-parse/sync'
import { unguardCell } from '#src/platform/csv.ts'
import type { Detail } from '#src/platform/errors.ts'

/** A field of the contact, `name` (cut into first and last), `tags`, `status`, `customAttributes` (JSON), `attribute:<name>`, `ignore`. */
export type Meaning = Single | `attribute:${string}` | 'ignore'

export interface Layout {
  readonly delimiter: string
  /** In the order of the file. */
  readonly columns: readonly Column[]
}

export interface Column {
  /** As the header has it. */
  readonly name: string
  readonly meaning: Meaning
}

export interface LayoutOrder {
  /** Names of columns and what they are, as the caller wrote it; null for "leave it out". */
  readonly mapping: Readonly<Record<string, string | null>>
  /** What becomes of a column that neither the mapping nor its name explains. */
  readonly unknownColumns: 'ignore' | 'attributes'
}

export type LayoutResult =
  | { readonly ok: true; readonly layout: Layout }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Characters of the header line; what is longer is no header. */
const MAX_HEADER = 64 * 1024
const MAX_COLUMNS = 200
const DELIMITERS = [',', ';', '\t', '|'] as const
export const ATTRIBUTE = 'attribute:'
const MAX_ATTRIBUTE_NAME = 100

/** How each meaning may be written, in a header or a mapping: without regard to case and to anything but letters and digits. */
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
export type Single = keyof typeof SPELLINGS
/** What our own export has and nobody may set. */
const READ_ONLY = new Set([
  'id',
  'contactid',
  'globalstatus',
  'deliverabilityscore',
  'emailverificationdate',
  'createdat',
  'updatedat',
])
const MEANINGS: ReadonlyMap<string, Single> = new Map(
  Object.entries(SPELLINGS).flatMap(([meaning, spellings]) =>
    spellings.map((spelling) => [spelling, meaning as Single]),
  ),
)

/** `start` is the beginning of the file, at least `MAX_HEADER` characters of it or all. */
export function readLayout(start: string, order: LayoutOrder): LayoutResult {
  const header = readHeader(start)
  if (header === null) return wrong('', 'the file has no header line, or one that is no CSV')
  if (header.names.length > MAX_COLUMNS)
    return wrong('', `the header has ${header.names.length} columns; at most ${MAX_COLUMNS}`)
  const { given, details } = readMapping(order.mapping, header.names)
  const columns = explainColumns(header.names, given, order.unknownColumns)
  if (!columns.some(({ meaning }) => meaning === 'email')) details.push(missingEmail(header.names))
  return details.length > 0 ? { ok: false, details } : { ok: true, layout: { delimiter: header.delimiter, columns } }
}

function wrong(path: string, message: string): LayoutResult {
  return { ok: false, details: [{ path, message }] }
}

interface Header {
  readonly names: readonly string[]
  readonly delimiter: string
}

/** By the delimiter that finds a column for the address, and among those the one that finds most columns. */
function readHeader(start: string): Header | null {
  const headers = DELIMITERS.flatMap((delimiter) => {
    const names = cutHeader(start.slice(0, MAX_HEADER + 2), delimiter)
    return names === null ? [] : [{ names, delimiter, weight: names.length + (names.some(isEmail) ? MAX_HEADER : 0) }]
  })
  return headers.toSorted((a, b) => b.weight - a.weight)[0] ?? null
}

const isEmail = (name: string): boolean => MEANINGS.get(plain(name)) === 'email'

function cutHeader(text: string, delimiter: string): string[] | null {
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
    return names === undefined ? null : names.map((name) => unguardCell(name).trim())
  } catch {
    return null
  }
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

const UNKNOWN_MEANING = `must be one of ${Object.keys(SPELLINGS).join(', ')}, ${ATTRIBUTE}<name>, ignore`

interface ReadMapping {
  readonly given: ReadonlyMap<number, Meaning>
  readonly details: Detail[]
}

/** The mapping by the number of the column. A meaning that only one column can have is given once. */
function readMapping(mapping: LayoutOrder['mapping'], names: readonly string[]): ReadMapping {
  const given = new Map<number, Meaning>()
  const details: Detail[] = []
  for (const [name, written] of Object.entries(mapping)) {
    const index = findColumn(names, name)
    const meaning = readMeaning(written)
    const path = `mapping.${name.slice(0, 100)}`
    if (index < 0) details.push({ path, message: 'the file has no such column' })
    else if (meaning === null) details.push({ path, message: UNKNOWN_MEANING })
    else if (meaning !== 'ignore' && [...given.values()].includes(meaning))
      details.push({ path, message: 'another column is that already' })
    else given.set(index, meaning)
  }
  return { given, details }
}

function findColumn(names: readonly string[], name: string): number {
  const exact = names.indexOf(name.trim())
  return exact >= 0 ? exact : names.findIndex((other) => other.toLowerCase() === name.trim().toLowerCase())
}

function readMeaning(written: string | null): Meaning | null {
  if (written === null || plain(written) === 'ignore') return 'ignore'
  if (written.toLowerCase().startsWith(ATTRIBUTE)) return attributeOf(written.slice(ATTRIBUTE.length))
  return MEANINGS.get(plain(written)) ?? null
}

function attributeOf(name: string): Meaning | null {
  const trimmed = name.trim()
  const mayBe =
    trimmed !== '' && trimmed !== '__proto__' && trimmed.length <= MAX_ATTRIBUTE_NAME && !trimmed.includes('\0')
  return mayBe ? `${ATTRIBUTE}${trimmed}` : null
}

/** A second column of the same name or meaning is left out: what the first one says counts. */
function explainColumns(
  names: readonly string[],
  given: ReadonlyMap<number, Meaning>,
  unknown: LayoutOrder['unknownColumns'],
): Column[] {
  const taken = new Set<Meaning>(given.values())
  return names.map((name, i) => {
    const told = given.get(i)
    if (told !== undefined) return { name, meaning: told }
    const meaning = guess(name, unknown)
    const isFree = !taken.has(meaning)
    if (isFree) taken.add(meaning)
    return { name, meaning: isFree ? meaning : 'ignore' }
  })
}

function guess(name: string, unknown: LayoutOrder['unknownColumns']): Meaning {
  if (name.toLowerCase().startsWith(ATTRIBUTE)) return attributeOf(name.slice(ATTRIBUTE.length)) ?? 'ignore'
  const known = MEANINGS.get(plain(name))
  if (known !== undefined) return known
  return unknown === 'ignore' || READ_ONLY.has(plain(name)) ? 'ignore' : (attributeOf(name) ?? 'ignore')
}

function missingEmail(names: readonly string[]): Detail {
  const shown = names
    .slice(0, 10)
    .map((name) => JSON.stringify(name.slice(0, 40)))
    .join(', ')
  return { path: 'mapping', message: `no column is the email address; the header has ${shown}` }
}
