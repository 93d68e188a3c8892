/** The contacts of an automation: where each is, why it ended, and the path of one. */
import { z } from 'zod'
import { listEnrolments, type Enrolment } from '#src/automations/enrol.ts'
import { findEnrolmentPath, type EnrolmentPath } from '#src/automations/enrolment-path.ts'
import { findEnrolmentTranslation } from '#src/automations/reason-texts.ts'
import { ENROLMENT_STATES, type EnrolmentState } from '#src/automations/state.ts'
import { refuse } from '#src/platform/errors.ts'
import { hexOf, isUuid } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { reasonTranslator } from '#api/http/preferences.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, reasonTranslationField, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { byId, findOwnAutomation, NO_AUTOMATION, READ } from './automations.ts'

const stateNames = Object.keys(ENROLMENT_STATES) as [EnrolmentState, ...EnrolmentState[]]
const subscriberSchema = z.object({
  id: z.uuid(),
  contact_id: z.uuid(),
  email: z.string(),
  status: z.enum(stateNames),
  version: z.int(),
  next_step: z.string().nullable(),
  due_at: timestamp.nullable(),
  reason: z.string().nullable(),
  ...reasonTranslationField,
  enrolled_at: timestamp,
  ended_at: timestamp.nullable(),
})

const pathFields = {
  passed: z
    .array(
      z.object({
        step: z.string(),
        at: timestamp,
        answer: z.boolean().nullable().meta({ description: 'of a condition or a wait for an event; else null' }),
      }),
    )
    .meta({ description: 'the steps in the order of the path; those before version 0.2.0 are not stored' }),
  mails: z
    .array(z.object({ step: z.string(), email_id: z.string() }))
    .meta({ description: 'the messages that its steps sent' }),
  calls: z
    .array(z.object({ step: z.string(), id: z.uuid(), state: z.string() }))
    .meta({ description: 'the requests of its webhook steps' }),
}

const list = route({
  name: 'get-automation-subscribers',
  summary: 'List the present and past contacts of an automation, newest first, with the next step and its due time',
  method: 'GET',
  paths: ['/public/automations/get-automation/:id/subscribers', '/public/automations/:id/subscribers'],
  access: READ,
  params: byId,
  query: paging.extend({ status: z.enum(stateNames).optional() }),
  status: 200,
  response: pagedList('subscribers', subscriberSchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, request) => {
    const { caller, params, query } = request
    const page = openPage(ctx, 'get-automation-subscribers', request)
    if (isRefusal(page)) return page
    const automation = await findOwnAutomation(ctx, caller.workspaceId, params.id)
    if (automation === null) return NO_AUTOMATION
    const found = await listEnrolments(ctx.db, automation.id, { ...page, state: query.status ?? null })
    const translate = reasonTranslator(request.headers, findEnrolmentTranslation)
    const present = (row: Enrolment): Record<string, unknown> => ({
      ...presentSubscriber(row),
      ...translate(row.reason),
    })
    const data = pageData('subscribers', mapPage(found, present), page)
    return { body: { success: true, message: `${countText(found.total, 'subscriber')}.`, data } }
  },
})

const one = route({
  name: 'get-automation-subscriber',
  summary: 'Get a contact of an automation with its path: the steps that it passed, and what they sent and called',
  method: 'GET',
  paths: ['/public/automations/:id/subscribers/:subscriberId'],
  access: READ,
  params: byId.extend({ subscriberId: z.string().meta({ description: 'the `id` of get-automation-subscribers' }) }),
  status: 200,
  response: envelope(subscriberSchema.extend(pathFields)).meta({ id: 'AutomationSubscriberAnswer' }),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, headers }) => {
    const automation = await findOwnAutomation(ctx, caller.workspaceId, params.id)
    if (automation === null) return NO_AUTOMATION
    const { subscriberId: id } = params
    const found = isUuid(id) ? await findEnrolmentPath(ctx.db, automation.id, id) : null
    if (found === null)
      return refuse('NOT_FOUND', 'The automation has no such contact. List them with get-automation-subscribers.')
    const ofReason = reasonTranslator(headers, findEnrolmentTranslation)(found.reason)
    const data = { ...presentSubscriber(found), ...ofReason, ...presentPath(found) }
    return { body: { success: true, message: `${countText(found.passed.length, 'step')} passed.`, data } }
  },
})

export const SUBSCRIBER_ROUTES: readonly AnyRoute[] = [list, one]

function presentSubscriber(enrolment: Enrolment): Record<string, unknown> {
  const isActive = enrolment.state === 'active'
  return {
    id: enrolment.id,
    contact_id: enrolment.contactId,
    email: enrolment.email,
    status: enrolment.state,
    version: enrolment.version,
    next_step: enrolment.step,
    due_at: isActive ? enrolment.dueAt.toISOString() : null,
    reason: enrolment.reason,
    enrolled_at: enrolment.createdAt.toISOString(),
    ended_at: enrolment.endedAt?.toISOString() ?? null,
  }
}

function presentPath({ passed, mails, calls }: EnrolmentPath): Record<string, unknown> {
  return {
    passed: passed.map(({ step, at, answer }) => ({ step, at: at.toISOString(), answer })),
    mails: mails.map(({ step, messageId }) => ({ step, email_id: `em_${hexOf(messageId)}` })),
    calls,
  }
}
