/**
 * The contacts in an automation: events that enrol a contact, enrolling and unenrolling by request, and the list. A
 * response is sent after the change is committed.
 */
import { z } from 'zod'
import { enrolContact, trackEvent, unenrolContact, type EnrolmentProperties } from '#src/automations/enrol.ts'
import { wakeAutomationWorkers } from '#src/automations/wake-workers.ts'
import { eventName } from '#src/automations/triggers.ts'
import { aliasOf } from '#src/campaigns/content.ts'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { parseMailbox } from '#src/mail/address.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, plainResponse } from '#api/http/response-schemas.ts'
import { findOwnAutomation, byId, NO_AUTOMATION, WRITE } from './automations.ts'

const MAX_PROPERTIES = 100
/** Characters as JSON: every enrolment stores them. */
const MAX_PROPERTIES_SIZE = 10_000

/** An address in the form that contacts store. */
export const emailField = z.string().transform((text, sink) => {
  const parsed = parseMailbox(text)
  if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
  return parsed.ok ? parsed.mailbox.email.toLowerCase() : z.NEVER
})
const propertiesField = z
  .record(z.string(), z.unknown())
  .refine((given) => Object.keys(given).length <= MAX_PROPERTIES, `at most ${MAX_PROPERTIES} properties`)
  .refine(
    (given) => JSON.stringify(given).length <= MAX_PROPERTIES_SIZE,
    `at most ${MAX_PROPERTIES_SIZE} characters as JSON`,
  )
  .nullish()
export const propertyFields = {
  properties: propertiesField,
  data: propertiesField.meta(aliasOf('properties')),
} as const
export const readProperties = (given: {
  properties?: EnrolmentProperties | undefined
  data?: EnrolmentProperties | undefined
}): EnrolmentProperties => given.properties ?? given.data ?? null

const eventNameField = eventName.nullish()
const eventBody = z
  .object({
    email: emailField,
    event_name: eventNameField,
    eventName: eventNameField.meta(aliasOf('event_name')),
    event: eventNameField.meta(aliasOf('event_name')),
    name: eventNameField.meta(aliasOf('event_name')),
    ...propertyFields,
  })
  .transform((given, sink) => {
    const event = given.event_name ?? given.eventName ?? given.event ?? given.name
    if (event === undefined || event === null)
      sink.addIssue({ code: 'custom', path: ['event_name'], message: 'is required' })
    return { email: given.email, name: event ?? '', properties: readProperties(given) }
  })
  .meta({
    required: ['email', 'event_name'],
    examples: [{ email: 'anna@example.org', event_name: 'signed_up', properties: { plan: 'basic' } }],
  })
const enrolBody = z
  .object({ email: emailField, ...propertyFields })
  .transform((given) => ({ email: given.email, properties: readProperties(given) }))

const enrolledCount = envelope(z.object({ enrolled: z.int().min(0) }))

const track = route({
  name: 'track-event',
  summary: 'Track an event of a contact: it is enrolled in each active automation with this event as its trigger',
  method: 'POST',
  paths: ['/public/automations/events/track'],
  access: { admin: 'automations:trigger' },
  body: eventBody,
  status: 200,
  response: enrolledCount,
  errors: [],
  handle: async (ctx, { caller, body }) => {
    const person = { workspaceId: caller.workspaceId, email: body.email }
    const enrolled = await trackEvent(
      ctx.db,
      person,
      { name: body.name, properties: body.properties },
      new Date(ctx.clock.now()),
    )
    wakeAutomationWorkers(ctx)
    return { body: { success: true, message: `Event tracked. Automations started: ${enrolled}.`, data: { enrolled } } }
  },
})

const enrol = route({
  name: 'enroll-contact',
  summary: 'Enrol a contact in an active automation; an enrolled contact stays at its step',
  method: 'POST',
  paths: ['/public/automations/add-automation/:id/enroll', '/public/automations/:id/enroll'],
  access: WRITE,
  params: byId,
  body: enrolBody,
  status: 200,
  response: enrolledCount,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    if (!isUuid(params.id)) return NO_AUTOMATION
    const person = { workspaceId: caller.workspaceId, email: body.email }
    const enrolment = { automationId: params.id, properties: body.properties }
    const result = await enrolContact(ctx.db, person, enrolment, new Date(ctx.clock.now()))
    if (result.kind === 'no-automation') return NO_AUTOMATION
    if (result.kind === 'not-active')
      return refuse('CONFLICT', `The automation is ${result.status}. Activate it before you enrol contacts.`)
    if (result.kind === 'no-contact')
      return refuse('NOT_FOUND', 'There is no contact with this email. Create it with add-contact.')
    const isNew = result.kind === 'enrolled'
    if (isNew) wakeAutomationWorkers(ctx)
    const message = isNew ? 'Contact enrolled.' : 'The contact is already enrolled.'
    return { body: { success: true, message, data: { enrolled: isNew ? 1 : 0 } } }
  },
})

const unenrol = route({
  name: 'unenroll-contact',
  summary: 'Remove a contact from an automation',
  method: 'DELETE',
  paths: ['/public/automations/delete-automation/:id/subscribers', '/public/automations/:id/subscribers'],
  access: WRITE,
  params: byId,
  body: z.object({ email: emailField }),
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    const automation = await findOwnAutomation(ctx, caller.workspaceId, params.id)
    if (automation === null) return NO_AUTOMATION
    const person = { workspaceId: caller.workspaceId, email: body.email }
    const isDone = await unenrolContact(ctx.db, person, automation.id, new Date(ctx.clock.now()))
    if (!isDone)
      return refuse(
        'NOT_FOUND',
        'No contact with this email is enrolled in this automation. List them with get-automation-subscribers.',
      )
    return { body: { success: true, message: 'Contact unenrolled.' } }
  },
})

export const ENROLMENT_ROUTES: readonly AnyRoute[] = [track, enrol, unenrol]
