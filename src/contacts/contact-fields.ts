/**
 * The fields of a contact as they are read: to show it, to send to it, or to answer a query. The columns come from the
 * table in profile.ts, so whatever is written there is read here.
 */
import { PROFILE_FIELDS } from './profile.ts'

export interface ContactFields {
  readonly id: string
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly companyName: string | null
  readonly jobTitle: string | null
  readonly phoneNumber: string | null
  readonly linkedin: string | null
  readonly timezone: string | null
  readonly tags: readonly string[]
  readonly customAttributes: Readonly<Record<string, unknown>>
}

/** Columns for a SELECT in which `c` is `contacts`. */
export const CONTACT_COLUMNS = [
  'c.id',
  'c.email',
  ...PROFILE_FIELDS.map(({ name, column }) => `c.${column} AS "${name}"`),
].join(', ')
