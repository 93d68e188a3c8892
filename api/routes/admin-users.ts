/** The users of the service, for its operators: list, invite, disable, delete, and links for a new password. */
import { z } from 'zod'
import { storeInvitation } from '#src/people/invitations.ts'
import { joinLink, resetLink } from '#src/people/one-time-links.ts'
import { createReset } from '#src/people/password-resets.ts'
import { resetSecondFactors } from '#src/people/second-factors.ts'
import { deleteUser, disableUser, enableUser, listUsers } from '#src/people/users.ts'
import { invalid, refuse } from '#src/platform/errors.ts'
import { findWorkspace } from '#src/workspaces/workspaces.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'
import { changeUserRoute } from './admin-change-user.ts'
import {
  byUser,
  findByParam,
  LAST_OPERATOR,
  NO_USER,
  presentUser,
  respondWithUser,
  userResponse,
  userSchema,
} from './admin-user-view.ts'
import { roleField, userEmail } from './person-fields.ts'

const linkResponse = envelope(
  z.object({ link: z.string().meta({ description: 'works once; shown only here' }), expires_at: timestamp }),
).meta({ id: 'OneTimeLinkAnswer' })
const LAST_OWNER = refuse(
  'CONFLICT',
  'The user is the last owner of a workspace. Change the role of another member first.',
)

const list = route({
  name: 'admin-list-users',
  summary: 'List the users of the service, the newest first',
  method: 'GET',
  paths: ['/admin/users'],
  access: 'operator',
  query: paging,
  status: 200,
  response: pagedList('users', userSchema),
  errors: [],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-users', request)
    if (isRefusal(page)) return page
    const found = await listUsers(ctx.db, page)
    const data = pageData('users', { ...found, items: found.items.map(presentUser) }, page)
    return { body: { success: true, message: `${countText(found.total, 'user')}.`, data } }
  },
})

const invite = route({
  name: 'admin-invite-user',
  summary: 'Get a link with which somebody creates an account, within 7 days',
  method: 'POST',
  paths: ['/admin/users/invite'],
  access: 'operator',
  body: z.object({
    email: userEmail,
    is_operator: z.boolean().default(false).meta({ description: 'may use the endpoints of the operator' }),
    workspace: z.string().optional().meta({ description: 'the id or unique name of a workspace to join' }),
    role: roleField.optional().meta({ description: 'in this workspace; by default owner' }),
  }),
  status: 201,
  response: linkResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { body, person }) => {
    const { email, is_operator: isOperator, workspace = null, role = 'owner' } = body
    if (workspace === null && !isOperator)
      return invalid([{ path: 'workspace', message: 'is required, unless is_operator is true' }])
    const found = workspace === null ? null : await findWorkspace(ctx.db, workspace)
    if (found !== null && found.kind !== 'found')
      return refuse('NOT_FOUND', 'There is no such workspace, or several have this name. Use its id.')
    const workspaceId = found?.workspace.id ?? null
    const place = { workspaceId, role: workspaceId === null ? null : role, isOperator }
    const { token, expiresAt } = await ctx.db.transaction((tx) =>
      storeInvitation(tx, { ...place, email, invitedBy: person?.userId ?? null }),
    )
    const data = { link: joinLink(ctx.config, token), expires_at: expiresAt.toISOString() }
    return { body: { success: true, message: 'Give the link to the person: it is not shown again.', data } }
  },
})

const resetPassword = route({
  name: 'admin-reset-password',
  summary: 'Get a link with which a user chooses a new password, within 24 hours',
  method: 'POST',
  paths: ['/admin/users/:id/reset-password'],
  access: 'operator',
  params: byUser,
  status: 201,
  response: linkResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params }) => {
    const user = await findByParam(ctx, params.id)
    if (user === null) return NO_USER
    const { token, expiresAt } = await ctx.db.transaction((tx) => createReset(tx, user.id))
    const data = { link: resetLink(ctx.config, token), expires_at: expiresAt.toISOString() }
    return { body: { success: true, message: 'Give the link to the user: it is not shown again.', data } }
  },
})

const resetFactors = route({
  name: 'admin-reset-second-factors',
  summary: 'Remove the authenticator app, recovery codes and passkeys of a user; all their sessions end',
  description: 'For somebody who has lost them. Check first that it is them who asks.',
  method: 'POST',
  paths: ['/admin/users/:id/reset-second-factors'],
  access: 'operator',
  params: byUser,
  status: 200,
  response: userResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params }) => {
    const user = await findByParam(ctx, params.id)
    if (user === null) return NO_USER
    await resetSecondFactors(ctx.db, user.id)
    return respondWithUser(ctx, user.id, 'The second factors are removed.')
  },
})

const disable = route({
  name: 'admin-disable-user',
  summary: 'Disable a user: their sessions end, and they cannot sign in; a repetition has the same result',
  method: 'POST',
  paths: ['/admin/users/:id/disable'],
  access: 'operator',
  params: byUser,
  status: 200,
  response: userResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params }) => {
    const user = await findByParam(ctx, params.id)
    if (user === null) return NO_USER
    if ((await disableUser(ctx.db, user.id)) === 'last-operator') return LAST_OPERATOR
    return respondWithUser(ctx, user.id, 'The user is disabled.')
  },
})

const enable = route({
  name: 'admin-enable-user',
  summary: 'Let a disabled user sign in again',
  method: 'POST',
  paths: ['/admin/users/:id/enable'],
  access: 'operator',
  params: byUser,
  status: 200,
  response: userResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params }) => {
    const user = await findByParam(ctx, params.id)
    if (user === null) return NO_USER
    await enableUser(ctx.db, user.id)
    return respondWithUser(ctx, user.id, 'The user may sign in.')
  },
})

const remove = route({
  name: 'admin-delete-user',
  summary: 'Delete a user with everything that is stored about them; the audit log keeps their id',
  method: 'DELETE',
  paths: ['/admin/users/:id'],
  access: 'operator',
  params: byUser,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params }) => {
    const user = await findByParam(ctx, params.id)
    const result = user === null ? 'not-found' : await deleteUser(ctx.db, user.id)
    if (result === 'not-found') return NO_USER
    if (result === 'last-operator') return LAST_OPERATOR
    if (result === 'last-owner') return LAST_OWNER
    return { body: { success: true, message: 'The user is deleted.' } }
  },
})

export const ADMIN_USER_ROUTES: readonly AnyRoute[] = [
  list,
  invite,
  resetPassword,
  resetFactors,
  disable,
  enable,
  changeUserRoute,
  remove,
]
