/**
 * What is known of a person, as it is read: whoever shows a contact, sends to it or asks about it has these facts and adds its own. The
 * columns go by the table of the profile, so what is written there is read here.
 */
import { FIELDS } from './profile.ts'

export interface ContactFacts {
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

/** For a SELECT in which `c` is `contacts`. */
export const CONTACT_FACTS = ['c.id', 'c.email', ...FIELDS.map(({ name, column }) => `c.${column} AS "${name}"`)].join(
  ', ',
)
