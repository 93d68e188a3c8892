/**
 * What is known of a contact, as it is written: a field that is left out keeps what is stored, `null` clears it. The table below says where
 * each field stands; saving, changing and reading go by it. The bit of a field tells ON CONFLICT that this save brought it (save.ts).
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
  /** In place of those that are stored. */
  readonly tags?: readonly string[] | null | undefined
  /** Added to those that are stored, key by key. */
  readonly customAttributes?: Readonly<Record<string, unknown>> | null | undefined
}

interface Field {
  readonly name: keyof Profile
  readonly column: string
  /** Of the column, and of what a batch casts its text to: an array cannot go through unnest. */
  readonly type: 'text' | 'text[]' | 'jsonb'
  /** What stands there when there is nothing. */
  readonly empty: string
}

export const FIELDS: readonly Field[] = [
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
  return 1 << FIELDS.findIndex((field) => field.name === name)
}

/** Attributes that are cleared, not added to. */
const CLEARED_ATTRIBUTES = 1 << FIELDS.length

export function givenBits(profile: Profile): number {
  const cleared = profile.customAttributes === null ? CLEARED_ATTRIBUTES : 0
  return FIELDS.reduce((bits, { name }) => (profile[name] === undefined ? bits : bits | bitOf(name)), cleared)
}

/** A field as the text that PostgreSQL reads as its type. */
export function fieldText({ name, type }: Field, profile: Profile): string | null {
  const value = profile[name]
  if (value === undefined || value === null) return null
  if (type === 'jsonb') return JSON.stringify(value)
  return type === 'text' ? (value as string) : arrayText(value as readonly string[])
}

function arrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** What SET says for each field, for values in `source` (a row with the columns of contacts) and the row's own alias. */
export function keepOrTake(source: string, stored: string): string {
  return FIELDS.map(({ name, column, type }) => {
    const isTaken = `${source}.given & ${bitOf(name)} <> 0`
    const merged =
      type === 'jsonb'
        ? sql`
          CASE
            WHEN ${source}.given & ${CLEARED_ATTRIBUTES} <> 0 THEN '{}'
            ELSE ${stored}.${column} || ${source}.${column}
          END
        `
        : `${source}.${column}`
    return `${column} = CASE WHEN ${isTaken} THEN ${merged} ELSE ${stored}.${column} END`
  }).join(',\n  ')
}
