/** How an automation runs: what became of its webhook steps, and a rehearsal that walks one contact through it and does nothing. */
import { z } from 'zod'
import { listCalls, rehearseWith, type CallLine } from '#src/automations/inspect.ts'
import type { Rehearsal } from '#src/automations/dry-run.ts'
import { STEP_KINDS } from '#src/automations/step-kinds.ts'
import { refuse } from '#src/platform/errors.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'
import { automationOf, byId, NO_AUTOMATION, READ } from './automations.ts'
import { email, filling, foldProperties } from './enrolments.ts'

const MAX_EVENTS = 100

const call = z.object({
  id: z.uuid(),
  step: z.string(),
  url: z.string(),
  status: z.enum(['pending', 'delivered', 'failed']),
  tries: z.int(),
  next_try_at: moment.nullable(),
  answer: z.string().nullable(),
  created_at: moment,
})

const calls = route({
  name: 'get-automation-calls',
  summary: 'What the webhook steps of an automation told, and what was answered; the newest first, for 30 days',
  method: 'GET',
  paths: ['/public/automations/get-automation/:id/calls', '/public/automations/:id/calls'],
  access: READ,
  params: byId,
  query: paging,
  status: 200,
  answer: pageOf('calls', call),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, query }) => {
    const automation = await automationOf(ctx, caller.workspaceId, params.id)
    if (automation === null) return NO_AUTOMATION
    const { items, total } = await listCalls(ctx.db, automation.id, query)
    return {
      body: {
        success: true,
        message: `${total} calls.`,
        data: pageData('calls', { items: items.map(presentCall), total }, query),
      },
    }
  },
})

const flag = z.boolean().nullish()
const body = z
  .object({
    email,
    ...filling,
    opened: flag.meta({ description: 'take its mails as opened' }),
    clicked: flag.meta({ description: 'take their links as followed' }),
    events: z
      .array(z.string())
      .max(MAX_EVENTS, `at most ${MAX_EVENTS}`)
      .nullish()
      .meta({ description: 'names of events that come as soon as they are waited for' }),
  })
  .meta({ required: ['email'], examples: [{ email: 'anna@example.org', properties: { plan: 'basic' }, opened: true }] })

const rehearsed = enveloped(
  z.object({
    steps: z.array(
      z.object({
        id: z.string(),
        type: z.enum(Object.keys(STEP_KINDS)),
        at: moment,
        answer: z
          .boolean()
          .nullable()
          .meta({ description: 'of a condition, or whether the event that is waited for came' }),
        obstacle: z
          .string()
          .nullable()
          .meta({ description: 'why the mail could not be sent now; it would wait at this step' }),
      }),
    ),
    ends: z.enum(['completed', 'exited']),
    reason: z.string().nullable(),
    ends_at: moment,
  }),
)

const dryRun = route({
  name: 'dry-run-automation',
  summary: 'Walk one contact through an automation, of any status, without doing anything',
  method: 'POST',
  paths: ['/public/automations/:id/dry-run'],
  access: READ,
  params: byId,
  body,
  status: 200,
  answer: rehearsed,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, body: given }) => {
    const automation = await automationOf(ctx, caller.workspaceId, params.id)
    if (automation === null) return NO_AUTOMATION
    const assumed = { isOpened: given.opened ?? false, isClicked: given.clicked ?? false, events: given.events ?? [] }
    const rehearsal = await rehearseWith(ctx.db, automation, {
      workspaceId: caller.workspaceId,
      email: given.email,
      event: foldProperties(given),
      assumed,
      nowMs: ctx.clock.now(),
    })
    if (rehearsal === null) return refuse('NOT_FOUND', 'There is no contact with this email.')
    return { body: { success: true, message: `${rehearsal.steps.length} steps.`, data: present(rehearsal) } }
  },
})

export const AUTOMATION_RUN_ROUTES: readonly AnyRoute[] = [calls, dryRun]

function presentCall({ id, step, url, state, tries, dueAt, answer, createdAt }: CallLine): Record<string, unknown> {
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

function present({ steps, ending, endsAtMs }: Rehearsal): Record<string, unknown> {
  return {
    steps: steps.map(({ id, type, atMs, answer, obstacle }) => ({
      id,
      type,
      at: new Date(atMs).toISOString(),
      answer,
      obstacle,
    })),
    ends: ending.kind,
    reason: ending.kind === 'exited' ? ending.reason : null,
    ends_at: new Date(endsAtMs).toISOString(),
  }
}
