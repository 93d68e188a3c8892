/**
 * Automations: made, listed, shown, changed, deleted while they are drafts. `get-automation` knows active ones only, as the specification
 * has it; `/public/automations/{id}` shows one of any status. Who is in them is `enrolments.ts`.
 */
import { z } from 'zod'
import { changeAutomation, createAutomation, type AutomationChange, type Changed } from '#src/automations/edit.ts'
import { readStepCounts } from '#src/automations/inspect.ts'
import { remindAutomations } from '#src/automations/wake-workers.ts'
import { finishSources } from '#src/automations/step-templates.ts'
import { STATUSES, type Status } from '#src/automations/state.ts'
import { stepsField } from '#src/automations/steps.ts'
import {
  deleteDraft,
  findAutomation,
  listAutomations,
  type Automation,
  type AutomationRow,
} from '#src/automations/store.ts'
import { triggerOf, TRIGGERS, type TriggerType } from '#src/automations/triggers.ts'
import { aliasOf, filled } from '#src/campaigns/content.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'

export const READ = { admin: 'automations:read' } as const
export const WRITE = { admin: 'automations:write' } as const
export const byId = z.object({ id: z.string() })
export const NO_AUTOMATION = refuse('NOT_FOUND', 'There is no such automation.')
const MAX_NAME = 255

const statusName = z.string().transform((written, sink): Status => {
  const status = (Object.keys(STATUSES) as Status[]).find((name) => name === written.trim().toLowerCase())
  if (status === undefined)
    sink.addIssue({ code: 'custom', message: `must be one of ${Object.keys(STATUSES).join(', ')}` })
  return status ?? z.NEVER
})
const triggerName = z.string().transform((written, sink): TriggerType => {
  const type = triggerOf(written)
  if (type === null) sink.addIssue({ code: 'custom', message: `must be one of ${Object.keys(TRIGGERS).join(', ')}` })
  return type ?? z.NEVER
})
const config = z.record(z.string(), z.unknown()).nullish()
const type = triggerName.nullish().meta({
  description: Object.entries(TRIGGERS)
    .map(([name, { when }]) => `${name}: ${when}`)
    .join('; '),
})
const nested = z.looseObject({ type: triggerName, config })

const fields = z.object({
  name: filled(MAX_NAME).nullish(),
  status: statusName.nullish().meta({ description: Object.keys(STATUSES).join(', ') }),
  trigger_type: type,
  triggerType: type.meta(aliasOf('trigger_type')),
  trigger_config: config,
  triggerConfig: config.meta(aliasOf('trigger_config')),
  trigger: z
    .union([nested, triggerName], 'must be an object {type, config}')
    .nullish()
    .meta({ description: 'both in one: {type, config}' }),
  steps: stepsField.nullish(),
  enrolled: z
    .enum(['finish', 'move'], 'must be finish or move')
    .nullish()
    .meta({
      description:
        'with new steps: those who are in it `finish` the version they began (unless said), ' +
        'or `move` to the new one at their next step',
    }),
})

const changeBody = fields.transform((given): AutomationChange => {
  const whole = typeof given.trigger === 'string' ? { type: given.trigger } : (given.trigger ?? undefined)
  const { type: triggerType, config: inner, ...beside } = { config: undefined, type: undefined, ...whole }
  return {
    name: given.name ?? undefined,
    status: given.status ?? undefined,
    triggerType: given.trigger_type ?? given.triggerType ?? triggerType,
    // {type, event_name} says the same as {type, config: {event_name}}
    triggerConfig:
      given.trigger_config ?? given.triggerConfig ?? inner ?? (Object.keys(beside).length > 0 ? beside : undefined),
    steps: given.steps ?? undefined,
    isMoving: given.enrolled === 'move',
  }
})

const createBody = changeBody
  .transform((change, sink) => {
    const { name } = change
    if (name === undefined) sink.addIssue({ code: 'custom', path: ['name'], message: 'is required' })
    return name === undefined ? z.NEVER : { ...change, name }
  })
  .meta({
    required: ['name'],
    examples: [
      {
        name: 'Welcome',
        trigger_type: 'contact_event',
        trigger_config: { event_name: 'signed_up' },
        status: 'active',
        steps: [
          {
            type: 'send_email',
            from: 'shop@example.com',
            subject: 'Welcome, {{firstName}}',
            body: '<p>Good to have you.</p>',
          },
          { type: 'delay', days: 3 },
          { type: 'add_tag', tag: 'welcomed' },
        ],
      },
    ],
  })

const count = z.int().min(0)
const row = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(Object.keys(STATUSES)),
  trigger_type: z.enum(Object.keys(TRIGGERS)),
  trigger_config: z.record(z.string(), z.unknown()),
  version: z.int().min(1),
  step_count: count,
  enrolled_count: count,
  completed_count: count,
  active_count: count,
  created_at: moment,
  updated_at: moment,
  createdAt: moment,
  updatedAt: moment,
})
const steps = z.array(z.looseObject({ id: z.string(), type: z.string() }))
const stepCounts = z.array(z.object({ step: z.string(), passed: count, waiting: count })).meta({
  description: 'how often each step was passed, and how many wait at it now; those of older versions too',
})
const shown = enveloped(row.extend({ steps, step_counts: stepCounts })).meta({ id: 'AutomationAnswer' })

const create = route({
  name: 'create-automation',
  summary: 'Create an automation, a draft unless its status is given',
  method: 'POST',
  paths: ['/public/automations/create', '/public/automations'],
  access: WRITE,
  body: createBody,
  status: 201,
  answer: shown,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, body }) => {
    const sources = await finishSources(ctx, caller.workspaceId, body.steps ?? [])
    if (!sources.ok) return invalid(sources.details)
    const { contents } = sources
    return answerChange(
      ctx,
      await createAutomation(ctx, caller.workspaceId, { ...body, contents }),
      'Automation created.',
    )
  },
})

const list = route({
  name: 'get-automations',
  summary: 'The automations of the workspace, of every status, the newest first; without their steps',
  method: 'GET',
  paths: ['/public/automations/get-all', '/public/automations'],
  access: READ,
  query: paging.extend({ status: statusName.optional() }),
  status: 200,
  answer: pageOf('automations', row),
  errors: [],
  handle: async (ctx, { caller, query }) => {
    const found = await listAutomations(ctx.db, caller.workspaceId, { ...query, status: query.status ?? null })
    const data = pageData('automations', { items: found.items.map(presentRow), total: found.total }, query)
    return { body: { success: true, message: `${found.total} automations.`, data } }
  },
})

const getActive = route({
  name: 'get-automation',
  summary: 'One automation that is active',
  method: 'GET',
  paths: ['/public/automations/get-automation/:id'],
  access: READ,
  params: byId,
  status: 200,
  answer: shown,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const automation = await automationOf(ctx, caller.workspaceId, params.id)
    return automation?.status === 'active' ? show(ctx, automation, 'Automation found.') : NO_AUTOMATION
  },
})

const get = route({
  name: 'show-automation',
  summary: 'One automation of any status',
  method: 'GET',
  paths: ['/public/automations/:id'],
  access: READ,
  params: byId,
  status: 200,
  answer: shown,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const automation = await automationOf(ctx, caller.workspaceId, params.id)
    return automation === null ? NO_AUTOMATION : show(ctx, automation, 'Automation found.')
  },
})

const update = route({
  name: 'update-automation',
  summary: 'Change an automation or move it to another status; what is left out stays, new steps are a new version',
  method: 'PATCH',
  paths: ['/public/automations/update-automation/:id', '/public/automations/:id'],
  access: WRITE,
  params: byId,
  body: changeBody,
  status: 200,
  answer: shown,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    if (!isUuid(params.id)) return NO_AUTOMATION
    const sources = await finishSources(ctx, caller.workspaceId, body.steps ?? [])
    if (!sources.ok) return invalid(sources.details)
    const change = { ...body, contents: sources.contents }
    return answerChange(ctx, await changeAutomation(ctx, caller.workspaceId, params.id, change), 'Automation changed.')
  },
})

const remove = route({
  name: 'delete-automation',
  summary: 'Delete a draft; an automation that was active is archived instead, by its status',
  method: 'DELETE',
  paths: ['/public/automations/delete-automation/:id', '/public/automations/:id'],
  access: WRITE,
  params: byId,
  status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const result = isUuid(params.id) ? await deleteDraft(ctx.db, caller.workspaceId, params.id) : 'not-found'
    if (result === 'not-draft') return refuse('CONFLICT', 'Only a draft is deleted; set the status archived instead.')
    return result === 'deleted' ? {} : NO_AUTOMATION
  },
})

/** `get-all` stands before `:id`. */
export const AUTOMATION_ROUTES: readonly AnyRoute[] = [create, list, getActive, get, update, remove]

/** The automation, if it is the workspace's own. */
export function automationOf(ctx: ApiContext, workspaceId: string, id: string): Promise<Automation | null> {
  return isUuid(id) ? findAutomation(ctx.db, workspaceId, id) : Promise.resolve(null)
}

async function answerChange(ctx: ApiContext, changed: Changed, message: string): Promise<Answer | Refusal> {
  // who was in it while it was paused may be due
  if (changed.kind === 'done') remindAutomations(ctx)
  if (changed.kind === 'not-found') return NO_AUTOMATION
  if (changed.kind === 'invalid') return invalid(changed.details)
  return changed.kind === 'conflict' ? refuse('CONFLICT', changed.reason) : show(ctx, changed.automation, message)
}

async function show(ctx: ApiContext, automation: Automation, message: string): Promise<Answer> {
  const counts = await readStepCounts(ctx.db, automation.id)
  return {
    body: { success: true, message, data: { ...presentRow(automation), steps: automation.steps, step_counts: counts } },
  }
}

function presentRow(automation: AutomationRow): Record<string, unknown> {
  const [created, updated] = [automation.createdAt.toISOString(), automation.updatedAt.toISOString()]
  return {
    id: automation.id,
    name: automation.name,
    status: automation.status,
    trigger_type: automation.triggerType,
    trigger_config: automation.triggerConfig,
    version: automation.version,
    step_count: automation.stepCount,
    enrolled_count: automation.enrolledCount,
    completed_count: automation.completedCount,
    active_count: automation.activeCount,
    created_at: created,
    updated_at: updated,
    createdAt: created,
    updatedAt: updated,
  }
}
