/**
 * Invitations to a workspace. If the workspace has a verified domain, the link is sent from it; else the response has
 * it. Invitations are limited by workspace and day, so that nobody sends mail to strangers with them.
 */
import { z } from 'zod'
import { buildInvitationMail, findInvitationSender } from '#src/people/invitation-mail.ts'
import { invite, listInvitations, revokeInvitation, type Invitation } from '#src/people/invitations.ts'
import { joinLink } from '#src/people/one-time-links.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import type { MemberRole } from '#src/people/roles.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { roleField, userEmail, uuidParam } from './person-fields.ts'

/** Of one workspace. */
const DAILY_INVITATIONS = { max: 100, windowMs: 24 * 3_600_000 }

const invitationFields = {
  id: z.uuid(),
  email: z.string(),
  role: roleField,
  expires_at: timestamp,
}
const invitationSchema = z
  .object({
    ...invitationFields,
    invited_by: z.string().nullable().meta({ description: 'the email address of the member' }),
    created_at: timestamp,
  })
  .meta({ id: 'Invitation' })
const createdSchema = z
  .object({
    ...invitationFields,
    is_mailed: z.boolean().meta({ description: 'the link was sent to the address' }),
    link: z.string().nullable().meta({ description: 'null if it was mailed; shown only here: give it to the person' }),
  })
  .meta({ id: 'CreatedInvitation' })

const NO_INVITATION = refuse('NOT_FOUND', 'There is no such open invitation. List them with list-invitations.')

const list = route({
  name: 'list-invitations',
  summary: 'List the open invitations to the workspace, the newest first',
  method: 'GET',
  paths: ['/public/invitations'],
  access: 'member',
  query: paging,
  status: 200,
  response: pagedList('invitations', invitationSchema),
  errors: [],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'list-invitations', request)
    if (isRefusal(page)) return page
    const found = await listInvitations(ctx.db, request.caller.workspaceId, page)
    const data = pageData('invitations', { ...found, items: found.items.map(present) }, page)
    return { body: { success: true, message: `${found.total} open invitations.`, data } }
  },
})

const create = route({
  name: 'create-invitation',
  summary: 'Invite somebody to the workspace with a role, by a link that works once within 7 days',
  description:
    'Sent by email from the oldest verified domain of the workspace; without one, the response has the link. An open ' +
    'invitation of the same address is replaced. Nobody invites to a role above their own.',
  method: 'POST',
  paths: ['/public/invitations'],
  access: 'member',
  body: z.object({ email: userEmail, role: roleField }),
  status: 201,
  response: envelope(createdSchema),
  errors: ['CONFLICT', 'FORBIDDEN', 'RATE_LIMITED'],
  handle: async (ctx, { caller: { workspaceId }, person, body: { email, role } }) => {
    const wait = await ctx.attempts.consume(`invitations ${workspaceId}`, DAILY_INVITATIONS)
    if (wait !== null)
      return rateLimited('client_rate', `At most ${DAILY_INVITATIONS.max} invitations a day. Wait ${wait} s.`, wait)
    const invited = await invite(ctx.db, { workspaceId, userId: person.userId }, { email, role })
    if (invited.kind === 'beyond-rights') return refuseRole(invited.role)
    if (invited.kind === 'is-member')
      return refuse('CONFLICT', `${email} is a member already. Change the role with change-member.`)
    const { id, token, expiresAt } = invited
    // mail of the sandbox reaches nobody, and all members can read it
    const sender = ctx.config.isSandbox ? null : await findInvitationSender(ctx.db, workspaceId)
    const link = joinLink(ctx.config, token)
    if (sender !== null) await ctx.acceptor.accept(buildInvitationMail(ctx, sender, { email, role, link, by: person }))
    const data = {
      id,
      email,
      role,
      expires_at: expiresAt.toISOString(),
      is_mailed: sender !== null,
      link: sender === null ? link : null,
    }
    const message = sender === null ? 'Give the link to the person: it is not shown again.' : 'Invitation sent.'
    return { body: { success: true, message, data } }
  },
})

const revoke = route({
  name: 'revoke-invitation',
  summary: 'Revoke an open invitation: its link stops working',
  method: 'DELETE',
  paths: ['/public/invitations/:id'],
  access: 'member',
  params: uuidParam,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND', 'FORBIDDEN'],
  handle: async (ctx, { caller: { workspaceId }, person: { userId }, params: { id } }) => {
    const result = isUuid(id) ? await revokeInvitation(ctx.db, { workspaceId, userId }, id) : null
    if (result === null || result.kind === 'not-found') return NO_INVITATION
    if (result.kind === 'beyond-rights') return refuseRole(result.role)
    return { body: { success: true, message: 'Invitation revoked.' } }
  },
})

function refuseRole(role: MemberRole): Refusal {
  return refuse('FORBIDDEN', `The role ${role} is above yours. Ask a member who has it.`)
}

function present(one: Invitation): Record<string, unknown> {
  return {
    id: one.id,
    email: one.email,
    role: one.role,
    expires_at: one.expiresAt.toISOString(),
    invited_by: one.invitedBy,
    created_at: one.createdAt.toISOString(),
  }
}

export const INVITATION_ROUTES: readonly AnyRoute[] = [list, create, revoke]
