/** How long plans and workspaces store their mail. The command line has the same: `mailstead retention`. */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { readOverdue } from '#src/retention/overdue.ts'
import {
  defaultPeriods,
  deleteRule,
  LEAST_DAYS,
  listRules,
  MOST_DAYS,
  type RetentionRule,
  type RuleSubject,
  saveRule,
} from '#src/retention/periods.ts'
import { findWorkspace } from '#src/workspaces/workspaces.ts'
import type { ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, plainResponse } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'

const daysFrom = (least: number): z.ZodNumber =>
  z
    .int('must be a whole number of days')
    .min(least, `must be at least ${least}`)
    .max(MOST_DAYS, `must be at most ${MOST_DAYS}`)
const periods = z.object({ bodies_days: z.int(), events_days: z.int(), messages_days: z.int() })
const ruleFields = z.object({
  bodies_days: daysFrom(LEAST_DAYS.bodies).nullish(),
  events_days: daysFrom(LEAST_DAYS.events).nullish(),
  messages_days: daysFrom(LEAST_DAYS.messages).nullish(),
})
const ruleSchema = z
  .object({
    plan: z.string().nullable().meta({ description: 'the plan that it is for; null: for one workspace' }),
    workspace_id: z.uuid().nullable(),
    bodies_days: z.int().nullable(),
    events_days: z.int().nullable(),
    messages_days: z.int().nullable(),
  })
  .meta({ id: 'RetentionRule' })

const NOT_FOUND = refuse('NOT_FOUND', 'There is no such rule or workspace. List the rules with GET /admin/retention.')

function presentRule({ plan, workspaceId, bodies, events, messages }: RetentionRule): z.output<typeof ruleSchema> {
  return { plan, workspace_id: workspaceId, bodies_days: bodies, events_days: events, messages_days: messages }
}

const list = route({
  name: 'admin-list-retention',
  summary: 'List how long mail is stored, and what is overdue',
  method: 'GET',
  paths: ['/admin/retention'],
  access: 'operator',
  status: 200,
  response: envelope(
    z.object({
      settings: periods.meta({ description: 'the periods without a rule' }),
      rules: z.array(ruleSchema).meta({ description: 'of plans first' }),
      overdue: z
        .array(
          z.object({
            data: z.string().meta({ description: 'bodies, events or messages' }),
            seconds: z.int().meta({ description: 'how long ago the oldest should have been deleted' }),
            what: z.string().meta({ description: 'the partition or workspace; empty if nothing is overdue' }),
          }),
        )
        .meta({ description: 'one entry for each kind of data' }),
    }),
  ),
  errors: [],
  handle: async (ctx) => {
    const defaults = defaultPeriods(ctx.config)
    const rules = await listRules(ctx.db)
    const overdue = await readOverdue(ctx.db, defaults, ctx.clock.now())
    const { bodies, events, messages } = defaults
    const data = {
      settings: { bodies_days: bodies, events_days: events, messages_days: messages },
      rules: rules.map(presentRule),
      overdue: overdue.map(({ period, lateMs, what }) => ({ data: period, seconds: Math.round(lateMs / 1000), what })),
    }
    return { body: { success: true, message: `${countText(rules.length, 'rule')}.`, data } }
  },
})

interface SubjectRow {
  readonly kind: 'plan' | 'workspace'
  readonly path: string
  readonly find: (ctx: ApiContext, name: string) => Promise<RuleSubject | Refusal>
}

const SUBJECTS: readonly SubjectRow[] = [
  { kind: 'plan', path: '/admin/retention/plans/:name', find: (_, plan) => Promise.resolve({ plan }) },
  {
    kind: 'workspace',
    path: '/admin/retention/workspaces/:name',
    find: async ({ db }, text) => {
      const found = isUuid(text) ? await findWorkspace(db, text) : null
      return found?.kind === 'found' ? { workspaceId: found.workspace.id } : NOT_FOUND
    },
  },
]
const params = z.object({ name: z.string().min(1, 'is empty').max(255, 'is too long') })

function saveRoute({ kind, path, find }: SubjectRow): AnyRoute {
  return route({
    name: `admin-set-${kind}-retention`,
    summary: `Set how many days a ${kind} stores bodies, events and messages`,
    description: 'Omitted periods are not changed; null returns one to the plan or the setting.',
    method: 'PUT',
    paths: [path],
    access: 'operator',
    params,
    body: ruleFields,
    status: 200,
    response: envelope(ruleSchema),
    errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
    handle: async (ctx, { params: { name }, body }) => {
      const subject = await find(ctx, name)
      if (isRefusal(subject)) return subject
      const { bodies_days: bodies, events_days: events, messages_days: messages } = body
      const rule = await saveRule(ctx.db, subject, { bodies, events, messages })
      return { body: { success: true, message: 'Stored; the worker applies it today.', data: presentRule(rule) } }
    },
  })
}

function removeRoute({ kind, path, find }: SubjectRow): AnyRoute {
  return route({
    name: `admin-unset-${kind}-retention`,
    summary: `Remove the retention rule of a ${kind}`,
    method: 'DELETE',
    paths: [path],
    access: 'operator',
    params,
    status: 200,
    response: plainResponse,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
    handle: async (ctx, { params: { name } }) => {
      const subject = await find(ctx, name)
      if (isRefusal(subject)) return subject
      if (!(await deleteRule(ctx.db, subject))) return NOT_FOUND
      return { body: { success: true, message: 'The rule is removed.' } }
    },
  })
}

export const ADMIN_RETENTION_ROUTES: readonly AnyRoute[] = [
  list,
  ...SUBJECTS.map(saveRoute),
  ...SUBJECTS.map(removeRoute),
]
