/**
 * The fields of a contact in requests: both spellings (snake_case and camelCase), combined into one form.
 * src/contacts/field-rules.ts decides which values are valid. `null` or an empty text clears a field; an omitted field
 * keeps its stored value.
 */
import { z } from 'zod'
import type { Profile } from '#src/contacts/profile.ts'
import {
  attributesRule,
  emailRule,
  phoneRule,
  splitName,
  tagsRule,
  textRule,
  urlRule,
  zoneRule,
  type FieldRule,
} from '#src/contacts/field-rules.ts'
import { isUuid } from '#src/platform/id.ts'

interface FieldSchema {
  readonly description?: string
  readonly [key: string]: unknown
}

/** A field that a rule parses; null and undefined skip the rule. */
function optionalField<T>(rule: FieldRule<T>, schema: FieldSchema): z.ZodType<T | null | undefined> {
  return z
    .unknown()
    .optional()
    .meta(schema)
    .transform((value, sink): T | null | undefined => {
      if (value === undefined || value === null) return value
      const result = rule(value)
      if (!result.ok) sink.addIssue({ code: 'custom', message: result.reason })
      return result.ok ? result.value : z.NEVER
    })
}

/** A field that must be present and not null. */
function requiredField<T>(rule: FieldRule<T>, schema: FieldSchema): z.ZodType<T> {
  return z
    .unknown()
    .meta(schema)
    .transform((value, sink): T => {
      const result =
        value === undefined || value === null || value === ''
          ? { ok: false as const, reason: 'is required' }
          : rule(value)
      if (!result.ok) sink.addIssue({ code: 'custom', message: result.reason })
      return result.ok ? result.value : z.NEVER
    })
}

const TEXT = { type: ['string', 'null'] }
const aliasOf = (name: string, schema: object = TEXT): FieldSchema => ({ ...schema, description: `alias of ${name}` })
const PHONE = { type: ['string', 'number', 'null'] }
const TAGS = {
  oneOf: [
    { type: 'string', description: 'separated by |: a|b' },
    { type: 'array', items: { type: 'string' } },
    { type: 'null' },
  ],
}
const OBJECT = { type: ['object', 'null'], additionalProperties: true }

const EMAIL = { type: 'string', description: 'an email address; stored in lower case' }
const requiredEmail = requiredField(emailRule, EMAIL)
const UUID = { type: ['string', 'null'], format: 'uuid' }
const uuidField = (schema: FieldSchema): z.ZodType<string | null | undefined> =>
  optionalField(
    (value) =>
      typeof value === 'string' && isUuid(value)
        ? { ok: true, value: value.toLowerCase() }
        : { ok: false, reason: 'must be a UUID' },
    schema,
  )

const contactFields = z.object({
  email: optionalField(emailRule, { ...EMAIL, description: 'a new address; by default it is not changed' }),
  audience_id: uuidField(UUID),
  audienceId: uuidField(aliasOf('audience_id', UUID)),
  first_name: optionalField(textRule, TEXT),
  firstName: optionalField(textRule, aliasOf('first_name')),
  last_name: optionalField(textRule, TEXT),
  lastName: optionalField(textRule, aliasOf('last_name')),
  name: optionalField(textRule, { ...TEXT, description: 'split into first and last name, unless these are given' }),
  company_name: optionalField(textRule, TEXT),
  companyName: optionalField(textRule, aliasOf('company_name')),
  job_title: optionalField(textRule, TEXT),
  jobTitle: optionalField(textRule, aliasOf('job_title')),
  phone_number: optionalField(phoneRule, PHONE),
  phoneNumber: optionalField(phoneRule, aliasOf('phone_number', PHONE)),
  linkedin: optionalField(urlRule, { ...TEXT, description: 'URL of the profile, http or https' }),
  timezone: optionalField(zoneRule, { ...TEXT, description: 'IANA time zone' }),
  tags: optionalField(tagsRule, TAGS),
  custom_attributes: optionalField(attributesRule, {
    ...OBJECT,
    description: 'merged into the stored attributes, key by key',
  }),
  customAttributes: optionalField(attributesRule, aliasOf('custom_attributes', OBJECT)),
})

export interface ContactInput {
  readonly email: string | undefined
  readonly audienceId: string | null
  readonly profile: Profile
}

function toContactInput(given: z.output<typeof contactFields>): ContactInput {
  const split = given.name == null ? null : splitName(given.name)
  return {
    email: given.email ?? undefined,
    audienceId: given.audience_id ?? given.audienceId ?? null,
    profile: {
      firstName: firstGiven(given.first_name, given.firstName, split?.firstName),
      lastName: firstGiven(given.last_name, given.lastName, split?.lastName),
      companyName: firstGiven(given.company_name, given.companyName),
      jobTitle: firstGiven(given.job_title, given.jobTitle),
      phoneNumber: firstGiven(given.phone_number, given.phoneNumber),
      linkedin: given.linkedin,
      timezone: given.timezone,
      tags: given.tags,
      customAttributes: firstGiven(given.custom_attributes, given.customAttributes),
    },
  }
}

/** The first value that is not undefined. */
function firstGiven<T>(...values: readonly (T | null | undefined)[]): T | null | undefined {
  return values.find((value) => value !== undefined)
}

export const addBody = contactFields
  .extend({ email: requiredEmail })
  .transform((given, sink) => {
    const { audienceId, profile } = toContactInput(given)
    if (audienceId === null) sink.addIssue({ code: 'custom', path: ['audience_id'], message: 'is required' })
    return audienceId === null ? z.NEVER : { email: given.email, audienceId, profile }
  })
  .meta({
    required: ['email', 'audience_id'],
    examples: [
      {
        email: 'anna@example.org',
        audience_id: '019a9a00-0000-7000-8000-000000000002',
        first_name: 'Anna',
        last_name: 'Berg',
        timezone: 'Europe/Berlin',
        tags: 'customer|newsletter',
        custom_attributes: { plan: 'basic' },
      },
    ],
  })

export const updateBody = contactFields
  .extend({
    status: z.unknown().optional().meta({
      type: 'string',
      description:
        '`unsubscribed` ends the subscription to the audience in audience_id, or to all; no value subscribes a contact',
    }),
  })
  .transform((given) => ({ ...toContactInput(given), isUnsubscribed: given.status === 'unsubscribed' }))
