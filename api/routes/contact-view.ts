/**
 * Contacts as responses show them: camelCase fields as specified, and a snake_case twin for each field that
 * add-contact accepts.
 */
import { z } from 'zod'
import type { ContactDetails } from '#src/contacts/find-contact.ts'
import type { AudienceMember } from '#src/contacts/audience-member.ts'
import { timestamp } from '#api/http/response-schemas.ts'

const STATUSES = ['subscribed', 'unsubscribed'] as const
type Status = (typeof STATUSES)[number]

const nullableText = z.string().nullable()
const tags = z.array(z.string())
const score = z.number().nullable().meta({ description: '0 to 1; null before the first calculation' })
const jsonObject = z.record(z.string(), z.unknown())

const nameFields = {
  id: z.uuid(),
  email: z.string(),
  firstName: nullableText,
  first_name: nullableText,
  lastName: nullableText,
  last_name: nullableText,
  companyName: nullableText,
  company_name: nullableText,
  jobTitle: nullableText,
  job_title: nullableText,
  phoneNumber: nullableText,
  phone_number: nullableText,
}

export const slimContact = z
  .object({
    ...nameFields,
    status: z.enum(STATUSES),
    tags,
    deliverabilityScore: score,
    createdAt: timestamp,
  })
  .meta({ id: 'SlimContact' })

export const fullContact = z
  .object({
    ...nameFields,
    linkedin: nullableText,
    timezone: nullableText,
    deliverabilityScore: score,
    emailVerificationDate: timestamp.nullable(),
    customHeaders: jsonObject.nullable(),
    status: z
      .enum(STATUSES)
      .nullable()
      .meta({ description: 'in the requested audience, or the latest one; null if it is in no audience' }),
    globalStatus: z.enum(['subscribed', 'blocked']).meta({ description: 'blocked: on the suppression list' }),
    optedOut: z
      .boolean()
      .meta({ description: 'opted out of all campaign and automation mail, whatever its memberships say' }),
    opted_out: z.boolean(),
    tags,
    customAttributes: jsonObject,
    custom_attributes: jsonObject,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Contact' })

export function presentSlim(member: AudienceMember): z.output<typeof slimContact> {
  return {
    ...presentNameFields(member),
    status: statusOf(member.isSubscribed),
    tags: [...member.tags],
    deliverabilityScore: member.score,
    createdAt: member.createdAt.toISOString(),
  }
}

export function presentFull(contact: ContactDetails): z.output<typeof fullContact> {
  return {
    ...presentNameFields(contact),
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

type Names = Pick<
  ContactDetails,
  'id' | 'email' | 'firstName' | 'lastName' | 'companyName' | 'jobTitle' | 'phoneNumber'
>

function presentNameFields({
  id,
  email,
  firstName,
  lastName,
  companyName,
  jobTitle,
  phoneNumber,
}: Names): z.output<z.ZodObject<typeof nameFields>> {
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
