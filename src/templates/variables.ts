/**
 * The variables of campaign and automation messages. docs/guides/templates.md lists the same table (a test compares
 * them), and the review validates templates against it. A contact's custom attributes are available under `attributes`
 * and, unless a variable has the same name, directly by name. Names of two words also have a spelling with an
 * underscore.
 */
import type { ContactFields } from '#src/contacts/contact-fields.ts'

/** Variables that belong to the message, not to the contact. */
export interface MailFacts {
  readonly unsubscribeUrl: string
  readonly preferencesUrl: string
  readonly viewInBrowserUrl: string
  readonly campaign?: { readonly id: string; readonly name: string } | undefined
  readonly workspace: { readonly name: string }
  /** Properties of the event that started the automation. */
  readonly event?: Readonly<Record<string, unknown>> | undefined
}

interface Variable {
  readonly does: string
  readonly sample: unknown
  readonly read: (contact: ContactFields, mail: MailFacts) => unknown
}

export const VARIABLES: Readonly<Record<string, Variable>> = {
  email: { does: 'the address the mail goes to', sample: 'ada@example.com', read: ({ email }) => email },
  firstName: { does: 'first name', sample: 'Ada', read: ({ firstName }) => firstName },
  lastName: { does: 'last name', sample: 'Lovelace', read: ({ lastName }) => lastName },
  fullName: {
    does: 'first and last name, as far as they are known',
    sample: 'Ada Lovelace',
    read: (contact) => fullNameOf(contact),
  },
  company: { does: 'company', sample: 'Analytical Engines', read: ({ companyName }) => companyName },
  companyName: { does: 'same as `company`', sample: 'Analytical Engines', read: ({ companyName }) => companyName },
  jobTitle: { does: 'job title', sample: 'Mathematician', read: ({ jobTitle }) => jobTitle },
  phoneNumber: { does: 'telephone number', sample: '+44 20 7946 0000', read: ({ phoneNumber }) => phoneNumber },
  linkedin: { does: 'LinkedIn profile', sample: 'https://www.linkedin.com/in/ada', read: ({ linkedin }) => linkedin },
  timezone: { does: 'time zone', sample: 'Europe/London', read: ({ timezone }) => timezone },
  tags: { does: 'a list of tags: `{{#each tags}}{{this}} {{/each}}`', sample: ['customer'], read: ({ tags }) => tags },
  attributes: {
    does: 'custom attributes: `{{attributes.plan}}`; also `{{plan}}`, if no variable in this table has that name',
    sample: {},
    read: ({ customAttributes }) => customAttributes,
  },
  unsubscribeUrl: {
    does: 'URL where this person unsubscribes; required in a campaign',
    sample: 'https://example.com/unsubscribe',
    read: (_, { unsubscribeUrl }) => unsubscribeUrl,
  },
  preferencesUrl: {
    does: 'URL where this person chooses what to receive',
    sample: 'https://example.com/preferences',
    read: (_, { preferencesUrl }) => preferencesUrl,
  },
  viewInBrowserUrl: {
    does: 'URL that shows this email as a web page',
    sample: 'https://example.com/view',
    read: (_, { viewInBrowserUrl }) => viewInBrowserUrl,
  },
  campaign: {
    does: '`{{campaign.name}}` and `{{campaign.id}}`; empty in an automation',
    read: (_, { campaign }) => campaign ?? {},
    sample: { id: '00000000-0000-7000-8000-000000000000', name: 'Spring' },
  },
  workspace: { does: '`{{workspace.name}}`', sample: { name: 'Example' }, read: (_, { workspace }) => workspace },
  event: {
    does: 'properties of the event that started an automation: `{{event.order_id}}`',
    sample: {},
    read: (_, { event }) => event ?? {},
  },
}

/** `firstName` → `first_name`. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

const READERS: readonly (readonly [name: string, read: Variable['read']])[] = Object.entries(VARIABLES).flatMap(
  ([name, { read }]) => [...new Set([name, toSnakeCase(name)])].map((spelling) => [spelling, read] as const),
)

/** All variable names, without custom attributes. */
export const VARIABLE_NAMES: ReadonlySet<string> = new Set(READERS.map(([name]) => name))

/**
 * The params of one message, for `renderMany` after conversion to JSON. `isUsed` selects the variables to compute
 * (`createVariableFilter`).
 */
export function variablesOf(
  contact: ContactFields,
  mail: MailFacts,
  isUsed: VariableFilter = () => true,
): Record<string, unknown> {
  const params: Record<string, unknown> = Object.fromEntries(
    Object.entries(contact.customAttributes).filter(([name]) => isUsed(name)),
  )
  for (const [name, read] of READERS) if (isUsed(name)) params[name] = read(contact, mail)
  return params
}

type VariableFilter = (name: string) => boolean

/** Access to variables other than by name; such a template may read any of them. */
const DYNAMIC_ACCESS = /\b(?:lookup|this)\b|@root|\{\{[^}]*[\s({#~&^]\.{1,2}[\s)}/]/

/**
 * Returns a filter for the variables that the sources mention, so that a campaign of a million messages computes no
 * others.
 */
export function createVariableFilter(sources: readonly (string | null)[]): VariableFilter {
  const text = sources.join('\n')
  if (DYNAMIC_ACCESS.test(text)) return () => true
  const cache = new Map<string, boolean>()
  return (name) => {
    const is = cache.get(name) ?? text.includes(name)
    if (cache.size < MAX_CACHED_NAMES) cache.set(name, is)
    return is
  }
}

/** Limits the cache, because custom attributes can have any name. */
const MAX_CACHED_NAMES = 1000

/** Params for a preview without a contact. */
export function sampleVariables(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(VARIABLES).flatMap(([name, { sample }]) => [
      [name, sample],
      [toSnakeCase(name), sample],
    ]),
  )
}

function fullNameOf({ firstName, lastName }: ContactFields): string {
  return [firstName, lastName].filter((part) => part !== null && part !== '').join(' ')
}
