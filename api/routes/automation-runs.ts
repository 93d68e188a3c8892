/**
 * How an automation runs: the log of its webhook calls, and a dry run that walks one contact through the steps
 * without effects.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { listCalls, dryRunForContact, type WebhookCallRow } from '#src/automations/inspect.ts'
import type { AutomationDryRun } from '#src/automations/dry-run.ts'
import { findEnrolmentTranslation } from '#src/automations/reason-texts.ts'
import { STEP_KINDS } from '#src/automations/step-kinds.ts'
import { refuse } from '#src/platform/errors.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { reasonTranslator, wantsTranslations } from '#api/http/preferences.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, pagedList, reasonTranslationField, timestamp, translation } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { findOwnAutomation, byId, NO_AUTOMATION, READ } from './automations.ts'
import { emailField, propertyFields, readProperties } from './enrolments.ts'

const MAX_EVENTS = 100

const callSchema = z.object({
  id: z.uuid(),
  step: z.string(),
  url: z.string(),
  status: z.enum(['pending', 'delivered', 'failed']),
  tries: z.int(),
  next_try_at: timestamp.nullable(),
  answer: z.string().nullable(),
  created_at: timestamp,
})

const listCallsRoute = route({
  name: 'get-automation-calls',
  summary: 'List the webhook calls of an automation and their responses, newest first; stored for 30 days',
  method: 'GET',
  paths: ['/public/automations/get-automation/:id/calls', '/public/automations/:id/calls'],
  access: READ,
  params: byId,
  query: paging,
  status: 200,
  response: pagedList('calls', callSchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, request) => {
    const { caller, params } = request
    const page = openPage(ctx, 'get-automation-calls', request)
    if (isRefusal(page)) return page
    const automation = await findOwnAutomation(ctx, caller.workspaceId, params.id)
    if (automation === null) return NO_AUTOMATION
    const found = await listCalls(ctx.db, automation.id, page)
    return {
      body: {
        success: true,
        message: `${countText(found.total, 'call')}.`,
        data: pageData('calls', mapPage(found, presentCall), page),
      },
    }
  },
})

const assumption = z.boolean().nullish()
const dryRunBody = z
  .object({
    email: emailField,
    ...propertyFields,
    opened: assumption.meta({ description: 'assume that its mails are opened' }),
    clicked: assumption.meta({ description: 'assume that their links are clicked' }),
    events: z
      .array(z.string())
      .max(MAX_EVENTS, `at most ${MAX_EVENTS}`)
      .nullish()
      .meta({ description: 'names of events; assume that each occurs as soon as a step waits for it' }),
  })
  .meta({ required: ['email'], examples: [{ email: 'anna@example.org', properties: { plan: 'basic' }, opened: true }] })

const rehearsalResponse = envelope(
  z.object({
    steps: z.array(
      z.object({
        id: z.string(),
        type: z.enum(Object.keys(STEP_KINDS)),
        at: timestamp,
        answer: z
          .boolean()
          .nullable()
          .meta({ description: 'the result of a condition, or whether the awaited event occurred' }),
        obstacle: z
          .string()
          .nullable()
          .meta({ description: 'why the mail cannot be sent now; the contact would wait at this step' }),
        obstacle_translation: translation
          .nullish()
          .meta({ description: 'with Prefer: translations: of the obstacle; null: there is none' }),
      }),
    ),
    ends: z.enum(['completed', 'exited']),
    reason: z.string().nullable(),
    ...reasonTranslationField,
    ends_at: timestamp,
  }),
)

const dryRun = route({
  name: 'dry-run-automation',
  summary: 'Walk one contact through an automation of any status, without effects',
  method: 'POST',
  paths: ['/public/automations/:id/dry-run'],
  access: READ,
  params: byId,
  body: dryRunBody,
  status: 200,
  response: rehearsalResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, headers, body: given }) => {
    const automation = await findOwnAutomation(ctx, caller.workspaceId, params.id)
    if (automation === null) return NO_AUTOMATION
    const assumed = { isOpened: given.opened ?? false, isClicked: given.clicked ?? false, events: given.events ?? [] }
    const rehearsal = await dryRunForContact(ctx.db, automation, {
      workspaceId: caller.workspaceId,
      email: given.email,
      event: readProperties(given),
      assumptions: assumed,
      nowMs: ctx.clock.now(),
    })
    if (rehearsal === null)
      return refuse('NOT_FOUND', 'There is no contact with this email. Create it with add-contact.')
    return {
      body: {
        success: true,
        message: `${countText(rehearsal.steps.length, 'step')}.`,
        data: presentRehearsal(rehearsal, headers),
      },
    }
  },
})

export const AUTOMATION_RUN_ROUTES: readonly AnyRoute[] = [listCallsRoute, dryRun]

function presentCall({
  id,
  step,
  url,
  state,
  tries,
  dueAt,
  answer,
  createdAt,
}: WebhookCallRow): Record<string, unknown> {
  return {
    id,
    step,
    url,
    status: state,
    tries,
    next_try_at: state === 'pending' ? dueAt.toISOString() : null,
    answer,
    created_at: createdAt.toISOString(),
  }
}

function presentRehearsal(
  { steps, end: ending, endsAtMs }: AutomationDryRun,
  headers: IncomingHttpHeaders,
): Record<string, unknown> {
  const translate = reasonTranslator(headers, findEnrolmentTranslation)
  const reason = ending.kind === 'exited' ? ending.reason : null
  const ofObstacle = (obstacle: string | null): object =>
    wantsTranslations(headers) && obstacle !== null ? { obstacle_translation: findEnrolmentTranslation(obstacle) } : {}
  return {
    steps: steps.map(({ id, type, atMs, answer, obstacle }) => ({
      id,
      type,
      at: new Date(atMs).toISOString(),
      answer,
      obstacle,
      ...ofObstacle(obstacle),
    })),
    ends: ending.kind,
    reason,
    ...translate(reason),
    ends_at: new Date(endsAtMs).toISOString(),
  }
}
