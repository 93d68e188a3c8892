/**
 * The fields of a contact as requests bring them, in both spellings, folded into one canonical form. What a value may be is decided by
 * src/contacts/rules.ts. `null` (or an empty text) clears a field, a field that is left out keeps what is stored.
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
  type Rule,
} from '#src/contacts/rules.ts'
import { isUuid } from '#src/platform/id.ts'

interface Shown {
  readonly description?: string
  readonly [key: string]: unknown
}

/** A field that a rule reads; null and undefined go by it. */
function ruled<T>(rule: Rule<T>, shown: Shown): z.ZodType<T | null | undefined> {
  return z
    .unknown()
    .optional()
    .meta(shown)
    .transform((value, sink): T | null | undefined => {
      if (value === undefined || value === null) return value
      const read = rule(value)
      if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
      return read.ok ? read.value : z.NEVER
    })
}

/** One that must be there; null is not. */
function required<T>(rule: Rule<T>, shown: Shown): z.ZodType<T> {
  return z
    .unknown()
    .meta(shown)
    .transform((value, sink): T => {
      const read =
        value === undefined || value === null || value === ''
          ? { ok: false as const, reason: 'is required' }
          : rule(value)
      if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
      return read.ok ? read.value : z.NEVER
    })
}

const TEXT = { type: ['string', 'null'] }
const aliasOf = (name: string, shown: object = TEXT): Shown => ({ ...shown, description: `alias of ${name}` })
const PHONE = { type: ['string', 'number', 'null'] }
const TAGS = {
  oneOf: [
    { type: 'string', description: 'with | between: a|b' },
    { type: 'array', items: { type: 'string' } },
    { type: 'null' },
  ],
}
const OBJECT = { type: ['object', 'null'], additionalProperties: true }

const EMAIL = { type: 'string', description: 'an e-mail address; kept in lower case' }
const requiredEmail = required(emailRule, EMAIL)
const UUID = { type: ['string', 'null'], format: 'uuid' }
const uuid = (shown: Shown): z.ZodType<string | null | undefined> =>
  ruled(
    (value) =>
      typeof value === 'string' && isUuid(value)
        ? { ok: true, value: value.toLowerCase() }
        : { ok: false, reason: 'must be a UUID' },
    shown,
  )

const fields = z.object({
  email: ruled(emailRule, { ...EMAIL, description: 'a new address; left out, it stays' }),
  audience_id: uuid(UUID),
  audienceId: uuid(aliasOf('audience_id', UUID)),
  first_name: ruled(textRule, TEXT),
  firstName: ruled(textRule, aliasOf('first_name')),
  last_name: ruled(textRule, TEXT),
  lastName: ruled(textRule, aliasOf('last_name')),
  name: ruled(textRule, { ...TEXT, description: 'split into first and last name, where these are not given' }),
  company_name: ruled(textRule, TEXT),
  companyName: ruled(textRule, aliasOf('company_name')),
  job_title: ruled(textRule, TEXT),
  jobTitle: ruled(textRule, aliasOf('job_title')),
  phone_number: ruled(phoneRule, PHONE),
  phoneNumber: ruled(phoneRule, aliasOf('phone_number', PHONE)),
  linkedin: ruled(urlRule, { ...TEXT, description: 'address of the profile, http or https' }),
  timezone: ruled(zoneRule, { ...TEXT, description: 'IANA name' }),
  tags: ruled(tagsRule, TAGS),
  custom_attributes: ruled(attributesRule, { ...OBJECT, description: 'added to those that are stored, key by key' }),
  customAttributes: ruled(attributesRule, aliasOf('custom_attributes', OBJECT)),
})

export interface ContactInput {
  readonly email: string | undefined
  readonly audienceId: string | null
  readonly profile: Profile
}

function fold(given: z.output<typeof fields>): ContactInput {
  const split = given.name == null ? null : splitName(given.name)
  return {
    email: given.email ?? undefined,
    audienceId: given.audience_id ?? given.audienceId ?? null,
    profile: {
      firstName: either(given.first_name, given.firstName, split?.firstName),
      lastName: either(given.last_name, given.lastName, split?.lastName),
      companyName: either(given.company_name, given.companyName),
      jobTitle: either(given.job_title, given.jobTitle),
      phoneNumber: either(given.phone_number, given.phoneNumber),
      linkedin: given.linkedin,
      timezone: given.timezone,
      tags: given.tags,
      customAttributes: either(given.custom_attributes, given.customAttributes),
    },
  }
}

/** The first that is given; null is given. */
function either<T>(...values: readonly (T | null | undefined)[]): T | null | undefined {
  return values.find((value) => value !== undefined)
}

export const addBody = fields
  .extend({ email: requiredEmail })
  .transform((given, sink) => {
    const { audienceId, profile } = fold(given)
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

export const updateBody = fields
  .extend({
    status: z.unknown().optional().meta({
      type: 'string',
      description:
        '`unsubscribed` ends the subscription: of the audience in audience_id, or of all; nobody is subscribed by it',
    }),
  })
  .transform((given) => ({ ...fold(given), isUnsubscribed: given.status === 'unsubscribed' }))
