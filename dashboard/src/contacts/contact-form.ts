/** What the form of a contact holds, and what it sends. Only fields that changed are sent. */
import type { AddContactBody, Contact } from '#dashboard/src/api/endpoints.ts'

export const TEXT_FIELDS = [
  'first_name',
  'last_name',
  'company_name',
  'job_title',
  'phone_number',
  'linkedin',
  'timezone',
] as const
export type TextField = (typeof TEXT_FIELDS)[number]

export interface AttributeRow {
  readonly key: number
  readonly name: string
  readonly value: string
}

export interface ContactForm {
  readonly email: string
  readonly texts: Readonly<Record<TextField, string>>
  readonly tags: readonly string[]
  readonly attributes: readonly AttributeRow[]
}

type ContactFields = Omit<AddContactBody, 'email' | 'audience_id'> & { readonly email?: string }

export const EMPTY_FORM: ContactForm = {
  email: '',
  texts: {
    first_name: '',
    last_name: '',
    company_name: '',
    job_title: '',
    phone_number: '',
    linkedin: '',
    timezone: '',
  },
  tags: [],
  attributes: [],
}

export function formOf(contact: Contact): ContactForm {
  return {
    email: contact.email,
    texts: Object.fromEntries(TEXT_FIELDS.map((name) => [name, contact[name] ?? ''])) as ContactForm['texts'],
    tags: contact.tags,
    attributes: Object.entries(contact.customAttributes).map(([name, value], key) => ({
      key,
      name,
      value: writeAttribute(value),
    })),
  }
}

/** A text as it is; everything else as JSON. A text that would be read as something else is quoted. */
export function writeAttribute(value: unknown): string {
  return typeof value === 'string' && readAttribute(value) === value ? value : JSON.stringify(value)
}

/** Numbers, true, false and JSON in brackets or quotes keep their type; everything else is a text. */
export function readAttribute(text: string): unknown {
  const trimmed = text.trim()
  if (!/^(?:-?\d|true$|false$|null$|[[{"])/.test(trimmed)) return text
  try {
    const value = JSON.parse(trimmed) as unknown
    // a telephone number or a long id must not lose digits
    return typeof value === 'number' && String(value) !== trimmed ? text : value
  } catch {
    return text
  }
}

/** What differs from the stored contact; a removed attribute is sent as null. */
export function changesOf(form: ContactForm, stored: ContactForm): ContactFields {
  const texts = TEXT_FIELDS.filter((name) => form.texts[name] !== stored.texts[name])
  const attributes = attributeChanges(form.attributes, stored.attributes)
  return {
    ...(form.email === stored.email ? {} : { email: form.email }),
    ...Object.fromEntries(texts.map((name) => [name, form.texts[name] === '' ? null : form.texts[name]])),
    ...(form.tags.join('|') === stored.tags.join('|') ? {} : { tags: form.tags }),
    ...(Object.keys(attributes).length === 0 ? {} : { custom_attributes: attributes }),
  }
}

function attributeChanges(now: readonly AttributeRow[], before: readonly AttributeRow[]): Record<string, unknown> {
  const named = now.filter(({ name }) => name.trim() !== '')
  const removed = before.filter(({ name }) => !named.some((row) => row.name.trim() === name))
  const changed = named.filter(({ name, value }) => before.find((row) => row.name === name.trim())?.value !== value)
  return Object.fromEntries([
    ...removed.map(({ name }) => [name, null]),
    ...changed.map(({ name, value }) => [name.trim(), readAttribute(value)]),
  ])
}
