/**
 * What the mail of a campaign or an automation may name: the table below is the list that authors are shown (docs/guides/templates.md says the
 * same, a test compares them) and that `check` judges by. A contact's own attributes stand under `attributes` and, where no variable of
 * the table has their name, also by their bare name. Every name of two words may also be written with an underscore.
 */
import type { ContactFacts } from '#src/contacts/facts.ts'

/** What the mail itself brings. */
export interface MailFacts {
  readonly unsubscribeUrl: string
  readonly preferencesUrl: string
  readonly viewInBrowserUrl: string
  readonly campaign?: { readonly id: string; readonly name: string } | undefined
  readonly workspace: { readonly name: string }
  /** Properties of the event that set an automation off. */
  readonly event?: Readonly<Record<string, unknown>> | undefined
}

interface Variable {
  readonly does: string
  readonly sample: unknown
  readonly read: (contact: ContactFacts, mail: MailFacts) => unknown
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
export function snakeOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

const READERS: readonly (readonly [name: string, read: Variable['read']])[] = Object.entries(VARIABLES).flatMap(
  ([name, { read }]) => [...new Set([name, snakeOf(name)])].map((spelling) => [spelling, read] as const),
)

/** Every name that a mail may use without the attributes of its contact. */
export const VARIABLE_NAMES: ReadonlySet<string> = new Set(READERS.map(([name]) => name))

/** The params of one mail: plain data for `renderMany`, once it is JSON. `isWanted`: only those are made (`mentionsOf`). */
export function variablesOf(
  contact: ContactFacts,
  mail: MailFacts,
  isWanted: IsWanted = () => true,
): Record<string, unknown> {
  const params: Record<string, unknown> = Object.fromEntries(
    Object.entries(contact.customAttributes).filter(([name]) => isWanted(name)),
  )
  for (const [name, read] of READERS) if (isWanted(name)) params[name] = read(contact, mail)
  return params
}

type IsWanted = (name: string) => boolean

/** What names a variable other than by its name: these may want any of them. */
const ANY = /\b(?:lookup|this)\b|@root|\{\{[^}]*[\s({#~&^]\.{1,2}[\s)}/]/

/** Which variables sources may print: those whose name stands in them. A mail that is made a million times carries no others. */
export function mentionsOf(sources: readonly (string | null)[]): IsWanted {
  const text = sources.join('\n')
  if (ANY.test(text)) return () => true
  const known = new Map<string, boolean>()
  return (name) => {
    const is = known.get(name) ?? text.includes(name)
    if (known.size < MOST_KNOWN) known.set(name, is)
    return is
  }
}

/** Attributes of contacts have any names. */
const MOST_KNOWN = 1000

/** Params for a preview without a contact. */
export function sampleVariables(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(VARIABLES).flatMap(([name, { sample }]) => [
      [name, sample],
      [snakeOf(name), sample],
    ]),
  )
}

function fullNameOf({ firstName, lastName }: ContactFacts): string {
  return [firstName, lastName].filter((part) => part !== null && part !== '').join(' ')
}
