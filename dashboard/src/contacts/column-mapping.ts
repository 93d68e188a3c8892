/**
 * What each column of a file means: recognised by its name, as the import does it, or by its values. A meaning that
 * exists once is given once. The whole mapping is sent, so what the reader saw is what happens.
 */
import { normalizeName, type CsvHead } from './csv-head.ts'

const NAMES = {
  email: ['email', 'emailaddress', 'mail', 'mailaddress'],
  name: ['name', 'fullname'],
  firstName: ['firstname', 'givenname', 'forename', 'fname', 'vorname'],
  lastName: ['lastname', 'surname', 'familyname', 'lname', 'nachname'],
  companyName: ['companyname', 'company', 'organization', 'organisation', 'firma'],
  jobTitle: ['jobtitle', 'job', 'title', 'position', 'role'],
  phoneNumber: ['phonenumber', 'phone', 'telephone', 'tel', 'mobile', 'telefon'],
  linkedin: ['linkedin', 'linkedinurl', 'linkedinprofile'],
  timezone: ['timezone', 'tz'],
  tags: ['tags', 'tag'],
  status: ['status', 'subscriptionstatus'],
} as const
export type FieldMeaning = keyof typeof NAMES
export const FIELD_MEANINGS = Object.keys(NAMES) as readonly FieldMeaning[]
/** Columns of an export that nobody can set. */
const READ_ONLY = new Set([
  'id',
  'contactid',
  'globalstatus',
  'deliverabilityscore',
  'emailverificationdate',
  'createdat',
  'updatedat',
])
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

export type ColumnMeaning =
  | { readonly kind: 'field'; readonly field: FieldMeaning }
  | { readonly kind: 'attribute'; readonly name: string }
  | { readonly kind: 'ignore' }

const IGNORE: ColumnMeaning = { kind: 'ignore' }

export function detectMapping(head: CsvHead): readonly ColumnMeaning[] {
  const used = new Set<string>()
  const mapping = head.header.map((name) => {
    const meaning = guess(name)
    const key = keyOf(meaning)
    if (key === null || used.has(key)) return IGNORE
    used.add(key)
    return meaning
  })
  if (used.has('email')) return mapping
  const at = head.header.findIndex((_, column) => holdsAddresses(head, column))
  return mapping.map((meaning, column) => (column === at ? { kind: 'field', field: 'email' } : meaning))
}

function guess(name: string): ColumnMeaning {
  const normal = normalizeName(name)
  const field = FIELD_MEANINGS.find((one) => NAMES[one].some((spelling) => spelling === normal))
  if (field !== undefined) return { kind: 'field', field }
  return normal === '' || READ_ONLY.has(normal) ? IGNORE : { kind: 'attribute', name: attributeName(name) }
}

function holdsAddresses({ rows }: CsvHead, column: number): boolean {
  const values = rows.map((row) => row[column]?.trim() ?? '').filter((value) => value !== '')
  return values.length > 0 && values.every((value) => ADDRESS.test(value))
}

/** `Plan (new)` is the attribute `plan_new`. `attribute:plan` of an export is `plan`. */
export function attributeName(column: string): string {
  const name = column.replace(/^attribute:/i, '').trim()
  return name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 100)
}

/** What may exist once; null for a column that is left out. */
function keyOf(meaning: ColumnMeaning): string | null {
  if (meaning.kind === 'ignore') return null
  return meaning.kind === 'field' ? meaning.field : `attribute:${meaning.name}`
}

export type MappingProblem = 'noEmail' | 'repeated' | 'noName'

/** Null if the mapping can be sent. */
export function checkMapping(mapping: readonly ColumnMeaning[]): MappingProblem | null {
  const keys = mapping.map(keyOf).filter((key) => key !== null)
  if (!keys.includes('email')) return 'noEmail'
  if (mapping.some((meaning) => meaning.kind === 'attribute' && meaning.name.trim() === '')) return 'noName'
  return new Set(keys).size < keys.length ? 'repeated' : null
}

/** As the API takes it, by name of the column. Of two columns with one name the first counts, as in the import. */
export function toApiMapping(header: readonly string[], mapping: readonly ColumnMeaning[]): Record<string, string> {
  return Object.fromEntries(
    header.map((name, column) => [name, keyOf(mapping[column] ?? IGNORE) ?? 'ignore'] as const).toReversed(),
  )
}
