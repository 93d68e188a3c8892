/** Creating a workspace: for operators, and for owners of a workspace whose plan allows it. */
import { z } from 'zod'
import { HIDDEN_CHARACTERS } from '#src/mail/address.ts'
import { createOwnWorkspace, listMemberships, type Membership } from '#src/people/members.ts'
import type { SignedInUser } from '#src/people/user-sessions.ts'
import { invalid, refuse } from '#src/platform/errors.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

/** By plan; a customer does not create workspaces without end. */
const MAX_BY_PLAN = 100

export function mayCreateWorkspaces(
  ctx: Pick<ApiContext, 'plans'>,
  person: Pick<SignedInUser, 'isOperator'>,
  workspaces: readonly Membership[],
): boolean {
  if (person.isOperator) return true
  const owned = workspaces.filter(({ role }) => role === 'owner')
  return owned.length < MAX_BY_PLAN && owned.some(({ plan }) => planOf(ctx, plan).mayCreateWorkspaces === true)
}

export const workspaceName = z
  .string()
  .trim()
  .min(1, 'is empty')
  .max(255, 'at most 255 characters')
  .refine((text) => !HIDDEN_CHARACTERS.test(text), 'has control characters')

const create = route({
  name: 'create-workspace',
  summary: 'Create a workspace; you become its owner',
  description: 'For operators, and for owners of a workspace whose plan allows it. Only an operator chooses the plan.',
  method: 'POST',
  paths: ['/auth/workspaces'],
  access: 'person',
  body: z.object({
    name: workspaceName,
    plan: z.string().optional().meta({ description: 'by default DEFAULT_PLAN' }),
  }),
  status: 201,
  response: envelope(z.object({ id: z.uuid(), name: z.string(), plan: z.string(), role: z.literal('owner') })),
  errors: ['FORBIDDEN'],
  handle: async (ctx, { person, body }) => {
    const workspaces = await listMemberships(ctx.db, person.userId)
    if (!mayCreateWorkspaces(ctx, person, workspaces))
      return refuse('FORBIDDEN', 'Your plan does not include further workspaces. Ask the operator of this service.')
    if (body.plan !== undefined && !person.isOperator)
      return refuse('FORBIDDEN', 'Only an operator chooses a plan. Repeat the request without plan.')
    const plan = body.plan ?? ctx.config.defaultPlan
    if (!Object.hasOwn(ctx.plans, plan))
      return invalid([{ path: 'plan', message: oneOfText(Object.keys(ctx.plans), plan) }])
    const id = await createOwnWorkspace(ctx.db, person.userId, { name: body.name, plan })
    const data = { id, name: body.name, plan, role: 'owner' }
    return { body: { success: true, message: 'Workspace created.', data } }
  },
})

export const OWN_WORKSPACE_ROUTES: readonly AnyRoute[] = [create]
