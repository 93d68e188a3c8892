/**
 * Automations: create, list, get and update them, and delete drafts. `get-automation` returns active ones only, as
 * the specification says; `/public/automations/{id}` returns any status. `enrolments.ts` has the contacts in them.
 */
import { z } from 'zod'
import {
  changeAutomation,
  createAutomation,
  type AutomationChange,
  type ChangeAutomationResult,
} from '#src/automations/change-automation.ts'
import { wakeAutomationWorkers } from '#src/automations/wake-workers.ts'
import { compileStepBodies } from '#src/automations/step-bodies.ts'
import { STATUSES, type Status } from '#src/automations/state.ts'
import { stepsField } from '#src/automations/steps.ts'
import { deleteDraft, findAutomation, listAutomations, type Automation } from '#src/automations/store.ts'
import { findTrigger, TRIGGERS, type TriggerType } from '#src/automations/triggers.ts'
import { aliasOf, nonEmptyLine } from '#src/campaigns/content.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { pagedList } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { automationResponse, automationRow, presentAutomationRow, respondWithAutomation } from './automation-view.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

export const READ = { admin: 'automations:read' } as const
export const WRITE = { admin: 'automations:write' } as const
export const byId = z.object({ id: z.string() })
export const NO_AUTOMATION = refuse('NOT_FOUND', 'There is no such automation. List them with get-automations.')
const MAX_NAME = 255

const statusField = z.string().transform((text, sink): Status => {
  const status = (Object.keys(STATUSES) as Status[]).find((name) => name === text.trim().toLowerCase())
  if (status === undefined) sink.addIssue({ code: 'custom', message: oneOfText(Object.keys(STATUSES), text) })
  return status ?? z.NEVER
})
const triggerTypeField = z.string().transform((text, sink): TriggerType => {
  const type = findTrigger(text)
  if (type === null) sink.addIssue({ code: 'custom', message: oneOfText(Object.keys(TRIGGERS), text) })
  return type ?? z.NEVER
})
const triggerConfig = z.record(z.string(), z.unknown()).nullish()
const triggerTypeOption = triggerTypeField.nullish().meta({
  description: Object.entries(TRIGGERS)
    .map(([name, { when }]) => `${name}: ${when}`)
    .join('; '),
})
const triggerObject = z.looseObject({ type: triggerTypeField, config: triggerConfig })

const automationFields = z.object({
  name: nonEmptyLine(MAX_NAME).nullish(),
  status: statusField.nullish().meta({ description: Object.keys(STATUSES).join(', ') }),
  trigger_type: triggerTypeOption,
  triggerType: triggerTypeOption.meta(aliasOf('trigger_type')),
  trigger_config: triggerConfig,
  triggerConfig: triggerConfig.meta(aliasOf('trigger_config')),
  trigger: z
    .union([triggerObject, triggerTypeField], 'must be an object {type, config}')
    .nullish()
    .meta({ description: 'type and configuration together: {type, config}' }),
  steps: stepsField.nullish(),
  enrolled: z
    .enum(['finish', 'move'], 'must be finish or move')
    .nullish()
    .meta({
      description:
        'with new steps: enrolled contacts `finish` the version they started (the default), ' +
        'or `move` to the new one at their next step',
    }),
})

const changeBody = automationFields.transform((given): AutomationChange => {
  const trigger = typeof given.trigger === 'string' ? { type: given.trigger } : (given.trigger ?? undefined)
  const { type: triggerType, config: nestedConfig, ...flatConfig } = { config: undefined, type: undefined, ...trigger }
  return {
    name: given.name ?? undefined,
    status: given.status ?? undefined,
    triggerType: given.trigger_type ?? given.triggerType ?? triggerType,
    // {type, event_name} is short for {type, config: {event_name}}
    triggerConfig:
      given.trigger_config ??
      given.triggerConfig ??
      nestedConfig ??
      (Object.keys(flatConfig).length > 0 ? flatConfig : undefined),
    steps: given.steps ?? undefined,
    movesEnrolled: given.enrolled === 'move',
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

const create = route({
  name: 'create-automation',
  summary: 'Create an automation; without a status it is a draft',
  method: 'POST',
  paths: ['/public/automations/create', '/public/automations'],
  access: WRITE,
  body: createBody,
  status: 201,
  response: automationResponse,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, body }) => {
    const sources = await compileStepBodies(ctx, caller.workspaceId, body.steps ?? [])
    if (!sources.ok) return invalid(sources.details)
    const { contents } = sources
    return respondWithChange(
      ctx,
      await createAutomation(ctx, caller.workspaceId, { ...body, contents }),
      'Automation created.',
    )
  },
})

const list = route({
  name: 'get-automations',
  summary: 'List the automations of the workspace, of every status, newest first, without their steps',
  method: 'GET',
  paths: ['/public/automations/get-all', '/public/automations'],
  access: READ,
  query: paging.extend({ status: statusField.optional() }),
  status: 200,
  response: pagedList('automations', automationRow),
  errors: [],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'get-automations', request)
    if (isRefusal(page)) return page
    const found = await listAutomations(ctx.db, caller.workspaceId, { ...page, status: query.status ?? null })
    const data = pageData('automations', mapPage(found, presentAutomationRow), page)
    return { body: { success: true, message: `${countText(found.total, 'automation')}.`, data } }
  },
})

const getActive = route({
  name: 'get-automation',
  summary: 'Get an active automation',
  method: 'GET',
  paths: ['/public/automations/get-automation/:id'],
  access: READ,
  params: byId,
  status: 200,
  response: automationResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const automation = await findOwnAutomation(ctx, caller.workspaceId, params.id)
    return automation?.status === 'active' ? respondWithAutomation(ctx, automation, 'Automation found.') : NO_AUTOMATION
  },
})

const get = route({
  name: 'show-automation',
  summary: 'Get an automation of any status',
  method: 'GET',
  paths: ['/public/automations/:id'],
  access: READ,
  params: byId,
  status: 200,
  response: automationResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const automation = await findOwnAutomation(ctx, caller.workspaceId, params.id)
    return automation === null ? NO_AUTOMATION : respondWithAutomation(ctx, automation, 'Automation found.')
  },
})

const update = route({
  name: 'update-automation',
  summary: 'Update an automation or its status; omitted fields are not changed, new steps create a new version',
  method: 'PATCH',
  paths: ['/public/automations/update-automation/:id', '/public/automations/:id'],
  access: WRITE,
  params: byId,
  body: changeBody,
  status: 200,
  response: automationResponse,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    if (!isUuid(params.id)) return NO_AUTOMATION
    const sources = await compileStepBodies(ctx, caller.workspaceId, body.steps ?? [])
    if (!sources.ok) return invalid(sources.details)
    const change = { ...body, contents: sources.contents }
    return respondWithChange(
      ctx,
      await changeAutomation(ctx, caller.workspaceId, params.id, change),
      'Automation updated.',
    )
  },
})

const remove = route({
  name: 'delete-automation',
  summary: 'Delete a draft; to end an automation that was active, set its status to archived',
  method: 'DELETE',
  paths: ['/public/automations/delete-automation/:id', '/public/automations/:id'],
  access: WRITE,
  params: byId,
  status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const result = isUuid(params.id) ? await deleteDraft(ctx.db, caller.workspaceId, params.id) : 'not-found'
    if (result === 'not-draft')
      return refuse('CONFLICT', 'Only a draft can be deleted. Set the status to archived instead.')
    return result === 'deleted' ? {} : NO_AUTOMATION
  },
})

/** `get-all` must be before `:id`. */
export const AUTOMATION_ROUTES: readonly AnyRoute[] = [create, list, getActive, get, update, remove]

/** The automation, or null if it does not exist in this workspace. */
export function findOwnAutomation(ctx: ApiContext, workspaceId: string, id: string): Promise<Automation | null> {
  return isUuid(id) ? findAutomation(ctx.db, workspaceId, id) : Promise.resolve(null)
}

async function respondWithChange(
  ctx: ApiContext,
  changed: ChangeAutomationResult,
  message: string,
): Promise<ApiResponse | Refusal> {
  // contacts that waited while it was paused may be due
  if (changed.kind === 'done') wakeAutomationWorkers(ctx)
  if (changed.kind === 'not-found') return NO_AUTOMATION
  if (changed.kind === 'invalid') return invalid(changed.details)
  return changed.kind === 'conflict'
    ? refuse('CONFLICT', changed.reason)
    : respondWithAutomation(ctx, changed.automation, message)
}
