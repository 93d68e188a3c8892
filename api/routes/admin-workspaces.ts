/**
 * The workspaces of the installation and their plans. The command line has the same: `mailstead workspace`. Suspending
 * and resuming is in admin-suspensions.ts. A workspace is deleted on the command line only, which wants a confirmation
 * and shows the progress.
 */
import { z } from 'zod'
import { MAX_ADMIN_KEYS } from '#src/auth/keys.ts'
import { HIDDEN_CHARACTERS } from '#src/mail/address.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { nextMonth, readUsage } from '#src/workspaces/usage.ts'
import {
  changeWorkspace,
  createWorkspace,
  findWorkspace,
  pageOfWorkspaces,
  type Workspace,
} from '#src/workspaces/workspaces.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

const MAX_NAME = 255
const count = z.int().min(0)
const text = z.string().min(1, 'is empty').max(MAX_NAME, 'is too long')
export const workspaceParams = z.object({
  workspace: text.meta({ description: 'the id, key part or name of a workspace' }),
})
const name = z
  .string()
  .trim()
  .min(1, 'is empty')
  .max(MAX_NAME, `at most ${MAX_NAME} characters`)
  .refine((given) => !HIDDEN_CHARACTERS.test(given), 'has control characters')
const plan = text.meta({ description: 'a plan of this installation: see admin-list-plans' })

const workspaceFields = {
  id: z.uuid(),
  key_part: z.string().meta({ description: 'the part of its API keys that names it' }),
  name: z.string(),
  plan: z.string(),
  reply_to: z.string().nullable(),
  created_at: timestamp,
}
const workspaceSchema = z.object(workspaceFields).meta({ id: 'Workspace' })
export const NO_WORKSPACE = refuse('NOT_FOUND', 'There is no such workspace. List them with admin-list-workspaces.')

function present(one: Workspace): z.output<typeof workspaceSchema> {
  const { id, keyPart, name: title, plan: planName, replyTo, createdAt } = one
  return { id, key_part: keyPart, name: title, plan: planName, reply_to: replyTo, created_at: createdAt.toISOString() }
}

/** The workspace that a path names. */
export async function requireWorkspace({ db }: ApiContext, named: string): Promise<Workspace | Refusal> {
  const found = await findWorkspace(db, named)
  if (found.kind === 'found') return found.workspace
  return found.kind === 'none'
    ? NO_WORKSPACE
    : refuse('CONFLICT', `Several workspaces have this name. Use one of their ids: ${found.ids.join(', ')}.`)
}

function checkPlanName({ plans }: ApiContext, given: string | undefined): Refusal | null {
  if (given === undefined || Object.hasOwn(plans, given)) return null
  return invalid([{ path: 'plan', message: oneOfText(Object.keys(plans), given) }])
}

const list = route({
  name: 'admin-list-workspaces',
  summary: 'List the workspaces, oldest first',
  method: 'GET',
  paths: ['/admin/workspaces'],
  access: 'operator',
  query: paging.extend({ plan: text.optional().meta({ description: 'only those on this plan' }) }),
  status: 200,
  response: pagedList('workspaces', workspaceSchema),
  errors: [],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-workspaces', request)
    if (isRefusal(page)) return page
    const found = await pageOfWorkspaces(ctx.db, { ...page, plan: request.query.plan ?? null })
    const data = pageData('workspaces', { ...found, items: found.items.map(present) }, page)
    return { body: { success: true, message: `${countText(found.total, 'workspace')}.`, data } }
  },
})

const usageSchema = z.object({
  ...workspaceFields,
  quota: z.object({
    limit: count.nullable().meta({ description: 'recipients in a calendar month (UTC); null: no limit' }),
    used: count,
    resets_at: timestamp,
  }),
  keys: z.object({ admin: count, admin_limit: count, regular: count }),
})

const get = route({
  name: 'admin-get-workspace',
  summary: 'Get a workspace with its usage',
  method: 'GET',
  paths: ['/admin/workspaces/:workspace'],
  access: 'operator',
  params: workspaceParams,
  status: 200,
  response: envelope(usageSchema),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params }) => {
    const workspace = await requireWorkspace(ctx, params.workspace)
    if (isRefusal(workspace)) return workspace
    const now = new Date(ctx.clock.now())
    const usage = await readUsage(ctx.db, workspace.id, now)
    const data = {
      ...present(workspace),
      quota: {
        limit: planOf(ctx, workspace.plan).monthlyQuota,
        used: usage?.used ?? 0,
        resets_at: nextMonth(now).toISOString(),
      },
      keys: { admin: usage?.adminKeys ?? 0, admin_limit: MAX_ADMIN_KEYS, regular: usage?.regularKeys ?? 0 },
    }
    return { body: { success: true, message: 'Workspace.', data } }
  },
})

const create = route({
  name: 'admin-create-workspace',
  summary: 'Create a workspace',
  method: 'POST',
  paths: ['/admin/workspaces'],
  access: 'operator',
  body: z.object({ name, plan: plan.optional() }).meta({ examples: [{ name: 'Acme', plan: 'launch' }] }),
  status: 201,
  response: envelope(workspaceSchema),
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { body }) => {
    const refusal = checkPlanName(ctx, body.plan)
    if (refusal !== null) return refusal
    const { id } = await createWorkspace(ctx.db, { name: body.name, plan: body.plan ?? ctx.config.defaultPlan })
    const workspace = await requireWorkspace(ctx, id)
    if (isRefusal(workspace)) return workspace
    return { body: { success: true, message: `The workspace ${body.name} is created.`, data: present(workspace) } }
  },
})

const change = route({
  name: 'admin-change-workspace',
  summary: 'Change the name or the plan of a workspace; its keys follow within a second',
  method: 'PATCH',
  paths: ['/admin/workspaces/:workspace'],
  access: 'operator',
  params: workspaceParams,
  body: z
    .object({ name: name.optional(), plan: plan.optional() })
    .refine((given) => given.name !== undefined || given.plan !== undefined, { error: 'give name or plan' })
    .meta({ examples: [{ plan: 'launch' }] }),
  status: 200,
  response: envelope(workspaceSchema),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params, body }) => {
    const workspace = await requireWorkspace(ctx, params.workspace)
    if (isRefusal(workspace)) return workspace
    const refusal = checkPlanName(ctx, body.plan)
    if (refusal !== null) return refusal
    const changed = await changeWorkspace(ctx.db, workspace.id, { name: body.name ?? null, plan: body.plan ?? null })
    if (changed === null) return NO_WORKSPACE
    return { body: { success: true, message: `The workspace ${changed.name} is changed.`, data: present(changed) } }
  },
})

const plans = route({
  name: 'admin-list-plans',
  summary: 'List the plans of this installation (PLANS_FILE)',
  method: 'GET',
  paths: ['/admin/plans'],
  access: 'operator',
  status: 200,
  response: envelope(
    z.object({
      plans: z
        .array(
          z
            .object({
              name: z.string(),
              monthly_quota: count.nullable().meta({ description: 'recipients in a calendar month; null: no limit' }),
              requests_per_second: z.number().nullable().meta({ description: 'averaged over 10 s; null: no limit' }),
              max_domains: count.nullable().meta({ description: 'sending domains; null: no limit' }),
              scheduling: z.boolean().meta({ description: 'whether it has scheduling and what else needs LAUNCH' }),
            })
            .meta({ id: 'Plan' }),
        )
        .meta({ description: 'the plans' }),
    }),
  ),
  errors: [],
  handle: (ctx) => {
    const rows = Object.entries(ctx.plans).map(([title, one]) => ({
      name: title,
      monthly_quota: one.monthlyQuota,
      requests_per_second: one.requestsPerSecond,
      max_domains: one.maxDomains,
      scheduling: one.isLaunch,
    }))
    return Promise.resolve({
      body: { success: true, message: `${countText(rows.length, 'plan')}.`, data: { plans: rows } },
    })
  },
})

export const ADMIN_WORKSPACE_ROUTES: readonly AnyRoute[] = [list, plans, create, get, change]
