/**
 * The profile of a contact as it is written: an omitted field keeps its stored value, `null` clears it. The table below
 * maps each field to its column; saving, changing and reading use it. Each field has a bit that tells ON CONFLICT which
 * fields this save provides (save-contacts.ts).
 */
import { sql } from '#src/stores/sql.ts'

export interface Profile {
  readonly firstName?: string | null | undefined
  readonly lastName?: string | null | undefined
  readonly companyName?: string | null | undefined
  readonly jobTitle?: string | null | undefined
  readonly phoneNumber?: string | null | undefined
  readonly linkedin?: string | null | undefined
  readonly timezone?: string | null | undefined
  /** Replaces the stored tags. */
  readonly tags?: readonly string[] | null | undefined
  /** Merged into the stored attributes, key by key. */
  readonly customAttributes?: Readonly<Record<string, unknown>> | null | undefined
}

interface ProfileField {
  readonly name: keyof Profile
  readonly column: string
  /** Type of the column, and the type a batch casts its text to: an array cannot pass through unnest. */
  readonly type: 'text' | 'text[]' | 'jsonb'
  /** The stored value if the field is empty. */
  readonly empty: string
}

export const PROFILE_FIELDS: readonly ProfileField[] = [
  { name: 'firstName', column: 'first_name', type: 'text', empty: 'NULL' },
  { name: 'lastName', column: 'last_name', type: 'text', empty: 'NULL' },
  { name: 'companyName', column: 'company_name', type: 'text', empty: 'NULL' },
  { name: 'jobTitle', column: 'job_title', type: 'text', empty: 'NULL' },
  { name: 'phoneNumber', column: 'phone_number', type: 'text', empty: 'NULL' },
  { name: 'linkedin', column: 'linkedin', type: 'text', empty: 'NULL' },
  { name: 'timezone', column: 'timezone', type: 'text', empty: 'NULL' },
  { name: 'tags', column: 'tags', type: 'text[]', empty: `'{}'` },
  { name: 'customAttributes', column: 'custom_attributes', type: 'jsonb', empty: `'{}'` },
]

/** The bit of a field in `contacts.given`. */
function bitOf(name: keyof Profile): number {
  return 1 << PROFILE_FIELDS.findIndex((field) => field.name === name)
}

/** Set if the attributes are cleared, not merged. */
const CLEARED_ATTRIBUTES_BIT = 1 << PROFILE_FIELDS.length

export function givenBits(profile: Profile): number {
  const cleared = profile.customAttributes === null ? CLEARED_ATTRIBUTES_BIT : 0
  return PROFILE_FIELDS.reduce((bits, { name }) => (profile[name] === undefined ? bits : bits | bitOf(name)), cleared)
}

/** A field as text that PostgreSQL casts to its type. */
export function fieldText({ name, type }: ProfileField, profile: Profile): string | null {
  const value = profile[name]
  if (value === undefined || value === null) return null
  if (type === 'jsonb') return JSON.stringify(value)
  return type === 'text' ? (value as string) : arrayText(value as readonly string[])
}

function arrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** The SET list for all fields: from `source`, a row with the columns of contacts, or unchanged in `stored`. */
export function mergeProfileSql(source: string, stored: string): string {
  return PROFILE_FIELDS.map(({ name, column, type }) => {
    const isGiven = `${source}.given & ${bitOf(name)} <> 0`
    const merged =
      type === 'jsonb'
        ? sql`
          CASE
            WHEN ${source}.given & ${CLEARED_ATTRIBUTES_BIT} <> 0 THEN '{}'
            ELSE ${stored}.${column} || ${source}.${column}
          END
        `
        : `${source}.${column}`
    return `${column} = CASE WHEN ${isGiven} THEN ${merged} ELSE ${stored}.${column} END`
  }).join(',\n  ')
}
