/**
 * Inbound routes of a workspace: which addresses of its verified domains receive mail, and what happens to it. A route
 * of another workspace is not found. The inbound port uses a change within a second.
 */
import { z } from 'zod'
import { invalid, rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'
import {
  createRoute,
  deleteRoute,
  findRoute,
  listRoutes,
  MAX_ROUTES,
  ROUTE_ACTIONS,
  TARGET_STATES,
  updateRoute,
  type CreatedRoute,
  type ForwardProblem,
  type InboundRoute,
  type RouteAction,
} from '#src/inbound-mail/routes.ts'
import { requestConfirmation } from '#src/inbound-mail/forward-addresses.ts'
import { MAX_TARGETS } from '#src/inbound-mail/forward-targets.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, pagedList, timestamp } from '#api/http/response-schemas.ts'
import { chooseTarget, CONFIRMED } from './confirmation-target.ts'

const ACCESS = { admin: 'inbound:manage' } as const
const NO_ROUTE = refuse('NOT_FOUND', 'There is no such inbound route. List them with list-inbound-routes.')
const MAX_PRIORITY = 1000
const MAX_DESCRIPTION = 500
const ACTIONS = Object.keys(ROUTE_ACTIONS) as [RouteAction, ...RouteAction[]]
const ACTIONS_TEXT = Object.entries(ROUTE_ACTIONS)
  .map(([name, meaning]) => `${name}: ${meaning}`)
  .join('; ')

const byId = z.object({ id: z.string().meta({ description: 'the id of the route' }) })
const actionField = z.enum(ACTIONS).meta({ description: ACTIONS_TEXT })
const priorityField = z.int().min(-MAX_PRIORITY).max(MAX_PRIORITY).meta({
  description: 'of the routes that match an address, that of the highest priority counts, then the most exact',
})
const descriptionField = z
  .string()
  .max(MAX_DESCRIPTION, `at most ${MAX_DESCRIPTION} characters`)
  .nullable()
  .meta({ description: 'a note of yours' })
const addressField = z.string().meta({
  description:
    'a verified domain, and a local part with at most one *: support@example.com (also matches support+tag), ' +
    'sales-*@example.com, or *@example.com for all addresses',
})
const forwardField = z
  .array(z.string().max(320, 'is too long'))
  .max(MAX_TARGETS, `at most ${MAX_TARGETS} addresses`)
  .meta({
    description:
      'addresses that get each mail, for the actions forward and webhook. An address that is neither at a verified ' +
      'domain of the workspace nor that of a member gets a link first, and no mail before it is confirmed',
  })
const forwardsSpamField = z.boolean().meta({ description: 'whether mail with the verdict spam is forwarded, too' })
const activeField = z.boolean().meta({ description: 'whether it accepts mail; otherwise other routes may match' })

const targetSchema = z
  .object({
    address: z.string(),
    state: z.enum(TARGET_STATES).meta({
      description:
        'own: at a verified domain of the workspace, or the address of a member; confirmed: its owner agreed; ' +
        'unconfirmed: nothing is forwarded to it',
    }),
    link_sent_at: timestamp.nullable().meta({ description: 'when the last link was sent; null: none was' }),
    link_expires_at: timestamp.nullable().meta({ description: 'until when the last link can be used' }),
  })
  .meta({ id: 'ForwardTarget' })

const routeSchema = z
  .object({
    id: z.uuid(),
    address: addressField,
    action: actionField,
    priority: priorityField,
    description: descriptionField,
    forward_to: forwardField,
    forward_targets: z.array(targetSchema).meta({ description: 'the addresses of `forward_to`, each with its state' }),
    forwards_spam: forwardsSpamField,
    is_active: activeField,
    is_domain_verified: z
      .boolean()
      .meta({ description: 'whether its domain is verified: otherwise it accepts nothing' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'InboundRoute' })
const routeResponse = envelope(routeSchema).meta({ id: 'InboundRouteAnswer' })

const REFUSALS: Readonly<
  Record<Exclude<CreatedRoute['kind'], 'created' | ForwardProblem['kind']>, ReturnType<typeof refuse>>
> = {
  'not-an-address': invalid([
    { path: 'address', message: 'must be local-part@domain, with at most one * in the local part' },
  ]),
  'not-verified': invalid([
    { path: 'address', message: 'its domain is not a verified domain of this workspace; verify it first' },
  ]),
  exists: refuse('CONFLICT', 'There is a route for this address. Change it with update-inbound-route.'),
  'too-many': refuse('CONFLICT', `A workspace has at most ${MAX_ROUTES} inbound routes. Delete one first.`),
}

const FORWARD_PROBLEMS = {
  'forward-missing': 'the action forward needs at least one address',
  'too-many-links': 'too many addresses were asked to confirm within a day; wait, or let some of them confirm first',
  'forward-unexpected': 'only the actions forward and webhook forward mail; send an empty list, or change the action',
} as const

function isForwardProblem(result: { readonly kind: string }): result is ForwardProblem {
  return result.kind === 'target' || Object.hasOwn(FORWARD_PROBLEMS, result.kind)
}

function refuseForward(problem: ForwardProblem): Refusal {
  const message = problem.kind === 'target' ? `${problem.address} is not an address` : FORWARD_PROBLEMS[problem.kind]
  return invalid([{ path: 'forward_to', message }])
}

const create = route({
  name: 'create-inbound-route',
  summary: 'Create an inbound route: mail to addresses of a verified domain',
  method: 'POST',
  paths: ['/public/inbound/routes'],
  access: ACCESS,
  body: z
    .object({
      address: addressField,
      action: actionField.default('webhook'),
      priority: priorityField.default(0),
      description: descriptionField.default(null),
      forward_to: forwardField.default([]),
      forwards_spam: forwardsSpamField.default(false),
    })
    .meta({ examples: [{ address: 'support@example.com', action: 'webhook' }] }),
  status: 201,
  response: routeResponse,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const { forward_to: forwardTo, forwards_spam: forwardsSpam, ...rest } = body
    const created = await createRoute(ctx, caller.workspaceId, { ...rest, forwardTo, forwardsSpam })
    if (created.kind === 'created')
      return { body: { success: true, message: 'Inbound route created.', data: presentRoute(created.route) } }
    return isForwardProblem(created) ? refuseForward(created) : REFUSALS[created.kind]
  },
})

const list = route({
  name: 'list-inbound-routes',
  summary: 'List the inbound routes of the workspace, newest first',
  method: 'GET',
  paths: ['/public/inbound/routes'],
  access: ACCESS,
  query: paging,
  status: 200,
  response: pagedList('routes', routeSchema),
  errors: [],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'list-inbound-routes', request)
    if (isRefusal(page)) return page
    const found = await listRoutes(ctx.db, request.caller.workspaceId, page)
    const data = pageData('routes', mapPage(found, presentRoute), page)
    return { body: { success: true, message: `${countText(found.total, 'inbound route')}.`, data } }
  },
})

const get = route({
  name: 'get-inbound-route',
  summary: 'Get an inbound route',
  method: 'GET',
  paths: ['/public/inbound/routes/:id'],
  access: ACCESS,
  params: byId,
  status: 200,
  response: routeResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = isUuid(params.id) ? await findRoute(ctx.db, caller.workspaceId, params.id) : null
    if (found === null) return NO_ROUTE
    return { body: { success: true, message: 'Inbound route found.', data: presentRoute(found) } }
  },
})

const update = route({
  name: 'update-inbound-route',
  summary: 'Update an inbound route; omitted fields are not changed',
  method: 'PATCH',
  paths: ['/public/inbound/routes/:id'],
  access: ACCESS,
  params: byId,
  body: z
    .object({
      action: actionField.optional(),
      priority: priorityField.optional(),
      description: descriptionField.optional(),
      forward_to: forwardField.optional(),
      forwards_spam: forwardsSpamField.optional(),
      is_active: activeField.optional(),
    })
    .meta({ examples: [{ action: 'store', is_active: true }] }),
  status: 200,
  response: routeResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    if (!isUuid(params.id)) return NO_ROUTE
    const { is_active: isActive, forward_to: forwardTo, forwards_spam: forwardsSpam, ...rest } = body
    const change = { ...rest, isActive, forwardTo, forwardsSpam }
    const updated = await updateRoute(ctx.db, caller.workspaceId, params.id, change)
    if (updated.kind === 'not-found') return NO_ROUTE
    if (updated.kind !== 'updated') return refuseForward(updated)
    return { body: { success: true, message: 'Inbound route updated.', data: presentRoute(updated.route) } }
  },
})

const remove = route({
  name: 'delete-inbound-route',
  summary: 'Delete an inbound route; the mail that it received stays',
  method: 'DELETE',
  paths: ['/public/inbound/routes/:id'],
  access: ACCESS,
  params: byId,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) =>
    isUuid(params.id) && (await deleteRoute(ctx.db, caller.workspaceId, params.id)) ? {} : NO_ROUTE,
})

const resend = route({
  name: 'resend-forward-confirmation',
  summary: 'Send the link again by which an address of an inbound route is confirmed',
  method: 'POST',
  paths: ['/public/inbound/routes/:id/confirmation'],
  access: ACCESS,
  params: byId,
  body: z
    .object({
      address: z
        .string()
        .max(320, 'is too long')
        .optional()
        .meta({ description: 'one of `forward_to`; by default the only one that is not confirmed' }),
    })
    .meta({ examples: [{ address: 'anna@example.org' }] }),
  status: 200,
  response: routeResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  handle: async (ctx, { caller, params, body }) => {
    const { workspaceId } = caller
    const found = isUuid(params.id) ? await findRoute(ctx.db, workspaceId, params.id) : null
    if (found === null) return NO_ROUTE
    const chosen = chooseTarget(found.forwardTargets, body.address)
    if (isRefusal(chosen)) return chosen
    const { address } = chosen
    const result = await requestConfirmation(ctx.db, workspaceId, { address, routeAddress: found.address })
    if (result === 'confirmed') return CONFIRMED
    if (result === 'too-soon') return rateLimited('client_rate', 'A link was sent less than 10 minutes ago.', 600)
    if (result === 'too-many') return rateLimited('client_rate', 'Too many links were sent within a day.', 86_400)
    return { body: { success: true, message: `The link is being sent to ${address}.`, data: presentRoute(found) } }
  },
})

export const INBOUND_ROUTE_ROUTES: readonly AnyRoute[] = [create, list, get, update, remove, resend]

function isoOf(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString()
}

function presentRoute(found: InboundRoute): Record<string, unknown> {
  return {
    id: found.id,
    address: found.address,
    action: found.action,
    priority: found.priority,
    description: found.description,
    forward_to: found.forwardTo,
    forward_targets: found.forwardTargets.map(({ address, state, mailedAt, expiresAt }) => ({
      address,
      state,
      link_sent_at: isoOf(mailedAt),
      link_expires_at: isoOf(expiresAt),
    })),
    forwards_spam: found.forwardsSpam,
    is_active: found.isActive,
    is_domain_verified: found.isDomainVerified,
    created_at: found.createdAt.toISOString(),
    updated_at: found.updatedAt.toISOString(),
  }
}
