/** Contacts as answers have them: camelCase as specified, and the snake_case twins of the fields that add-contact takes. */
import { z } from 'zod'
import type { FoundContact } from '#src/contacts/find.ts'
import type { Member } from '#src/contacts/pages.ts'
import { moment } from '#api/http/answer-shapes.ts'

const STATUSES = ['subscribed', 'unsubscribed'] as const
type Status = (typeof STATUSES)[number]

const text = z.string().nullable()
const tags = z.array(z.string())
const score = z.number().nullable().meta({ description: '0 to 1; null until it is computed' })
const object = z.record(z.string(), z.unknown())

const named = {
  id: z.uuid(),
  email: z.string(),
  firstName: text,
  first_name: text,
  lastName: text,
  last_name: text,
  companyName: text,
  company_name: text,
  jobTitle: text,
  job_title: text,
  phoneNumber: text,
  phone_number: text,
}

export const slimContact = z
  .object({
    ...named,
    status: z.enum(STATUSES),
    tags,
    deliverabilityScore: score,
    createdAt: moment,
  })
  .meta({ id: 'SlimContact' })

export const fullContact = z
  .object({
    ...named,
    linkedin: text,
    timezone: text,
    deliverabilityScore: score,
    emailVerificationDate: moment.nullable(),
    customHeaders: object.nullable(),
    status: z
      .enum(STATUSES)
      .nullable()
      .meta({ description: 'in the audience that was asked for, else the latest; null in none' }),
    globalStatus: z.enum(['subscribed', 'blocked']).meta({ description: 'blocked: on the suppression list' }),
    optedOut: z
      .boolean()
      .meta({ description: 'wants no mail of campaigns and automations at all, whatever its memberships say' }),
    opted_out: z.boolean(),
    tags,
    customAttributes: object,
    custom_attributes: object,
    createdAt: moment,
    updatedAt: moment,
  })
  .meta({ id: 'Contact' })

export function presentSlim(member: Member): z.output<typeof slimContact> {
  return {
    ...presentNames(member),
    status: statusOf(member.isSubscribed),
    tags: [...member.tags],
    deliverabilityScore: member.score,
    createdAt: member.createdAt.toISOString(),
  }
}

export function presentFull(contact: FoundContact): z.output<typeof fullContact> {
  return {
    ...presentNames(contact),
    linkedin: contact.linkedin,
    timezone: contact.timezone,
    deliverabilityScore: contact.score,
    emailVerificationDate: contact.verifiedAt,
    customHeaders: contact.customHeaders,
    status: contact.isSubscribed === null ? null : statusOf(contact.isSubscribed),
    globalStatus: contact.isBlocked ? 'blocked' : 'subscribed',
    optedOut: contact.isOptedOut,
    opted_out: contact.isOptedOut,
    tags: contact.tags as string[],
    customAttributes: contact.customAttributes,
    custom_attributes: contact.customAttributes,
    createdAt: contact.createdAt,
    updatedAt: contact.updatedAt,
  }
}

function statusOf(isSubscribed: boolean): Status {
  return isSubscribed ? 'subscribed' : 'unsubscribed'
}

type Names = Pick<FoundContact, 'id' | 'email' | 'firstName' | 'lastName' | 'companyName' | 'jobTitle' | 'phoneNumber'>

function presentNames({
  id,
  email,
  firstName,
  lastName,
  companyName,
  jobTitle,
  phoneNumber,
}: Names): z.output<z.ZodObject<typeof named>> {
  return {
    id,
    email,
    firstName,
    first_name: firstName,
    lastName,
    last_name: lastName,
    companyName,
    company_name: companyName,
    jobTitle,
    job_title: jobTitle,
    phoneNumber,
    phone_number: phoneNumber,
  }
}
