/** The open invitations that give the rights of an operator, for operators: list and revoke them. */
import { z } from 'zod'
import { listOperatorInvitations, revokeOperatorInvitation, type Invitation } from '#src/people/invitations.ts'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { pagedList, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { uuidParam } from './person-fields.ts'

const NO_INVITATION = refuse(
  'NOT_FOUND',
  'There is no such open invitation of an operator. List them with admin-list-invitations.',
)

const invitationSchema = z
  .object({
    id: z.uuid(),
    email: z.string().nullable().meta({ description: 'null: the link for the first operator, who chooses it' }),
    workspace_id: z.uuid().nullable().meta({ description: 'the workspace that the person joins as well' }),
    expires_at: timestamp,
    invited_by: z.string().nullable().meta({ description: 'the email address of the operator; null for a command' }),
    created_at: timestamp,
  })
  .meta({ id: 'OperatorInvitation' })

const list = route({
  name: 'admin-list-invitations',
  summary: 'List the open invitations that give the rights of an operator, the newest first',
  method: 'GET',
  paths: ['/admin/invitations'],
  access: 'operator',
  query: paging,
  status: 200,
  response: pagedList('invitations', invitationSchema),
  errors: [],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-invitations', request)
    if (isRefusal(page)) return page
    const found = await listOperatorInvitations(ctx.db, page)
    const data = pageData('invitations', { ...found, items: found.items.map(present) }, page)
    return { body: { success: true, message: `${found.total} open invitations.`, data } }
  },
})

const revoke = route({
  name: 'admin-revoke-invitation',
  summary: 'Revoke an open invitation that gives the rights of an operator: its link stops working',
  method: 'DELETE',
  paths: ['/admin/invitations/:id'],
  access: 'operator',
  params: uuidParam,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params: { id } }) =>
    isUuid(id) && (await revokeOperatorInvitation(ctx.db, id))
      ? { body: { success: true, message: 'Invitation revoked.' } }
      : NO_INVITATION,
})

function present(one: Invitation): Record<string, unknown> {
  return {
    id: one.id,
    email: one.email,
    workspace_id: one.workspaceId,
    expires_at: one.expiresAt.toISOString(),
    invited_by: one.invitedBy,
    created_at: one.createdAt.toISOString(),
  }
}

export const OPERATOR_INVITATION_ROUTES: readonly AnyRoute[] = [list, revoke]
