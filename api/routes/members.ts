/** The members of a workspace and their roles. Only for people: no API key manages them. */
import { z } from 'zod'
import {
  changeRole,
  findMember,
  listMembers,
  removeMember,
  type MemberChange,
  type WorkspaceMember,
} from '#src/people/members.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'
import { roleField, uuidParam } from './person-fields.ts'

const memberSchema = z
  .object({
    user_id: z.uuid(),
    email: z.string(),
    name: z.string(),
    role: roleField,
    is_self: z.boolean().meta({ description: 'who sent this request' }),
    is_disabled: z.boolean().meta({ description: 'the operator disabled the user: they cannot sign in' }),
    joined_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'of their sessions' }),
  })
  .meta({ id: 'Member' })

const NO_MEMBER = refuse('NOT_FOUND', 'There is no such member in this workspace. List them with list-members.')
const LAST_OWNER = refuse(
  'CONFLICT',
  'This is the last owner of the workspace. Change the role of another member first.',
)

const list = route({
  name: 'list-members',
  summary: 'List the members of the workspace with their roles',
  method: 'GET',
  paths: ['/public/members'],
  access: 'member',
  query: paging,
  status: 200,
  response: pagedList('members', memberSchema),
  errors: [],
  handle: async (ctx, request) => {
    const { caller, person } = request
    const page = openPage(ctx, 'list-members', request)
    if (isRefusal(page)) return page
    const found = await listMembers(ctx.db, caller.workspaceId, page)
    const items = found.items.map((member) => presentMember(member, person.userId))
    const data = pageData('members', { ...found, items }, page)
    return { body: { success: true, message: `${countText(found.total, 'member')}.`, data } }
  },
})

const change = route({
  name: 'change-member',
  summary: 'Give a member another role; they are signed out everywhere',
  description: 'Nobody gives, or takes, a role above their own. The last owner keeps the role.',
  method: 'PATCH',
  paths: ['/public/members/:id'],
  access: 'member',
  params: uuidParam,
  body: z.object({ role: roleField }),
  status: 200,
  response: envelope(memberSchema),
  errors: ['NOT_FOUND', 'CONFLICT', 'FORBIDDEN'],
  handle: async (ctx, { caller, person, params: { id }, body: { role } }) => {
    if (!isUuid(id)) return NO_MEMBER
    const { workspaceId } = caller
    const result = await changeRole(ctx.db, { workspaceId, userId: person.userId }, { userId: id, role })
    const member = result.kind === 'changed' ? await findMember(ctx.db, workspaceId, id) : null
    if (member === null) return refuseChange(result)
    return { body: { success: true, message: 'Role changed.', data: presentMember(member, person.userId) } }
  },
})

const remove = route({
  name: 'remove-member',
  summary: 'Remove a member from the workspace; they are signed out everywhere',
  description: 'Nobody removes a member above their own role. The last owner stays. API keys are not changed.',
  method: 'DELETE',
  paths: ['/public/members/:id'],
  access: 'member',
  params: uuidParam,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'FORBIDDEN'],
  handle: async (ctx, { caller, person, params: { id } }) => {
    if (!isUuid(id)) return NO_MEMBER
    const result = await removeMember(ctx.db, { workspaceId: caller.workspaceId, userId: person.userId }, id)
    if (result.kind !== 'changed') return refuseChange(result)
    return { body: { success: true, message: 'Member removed.' } }
  },
})

const leave = route({
  name: 'leave-workspace',
  summary: 'Leave the workspace; the last owner stays',
  method: 'POST',
  paths: ['/public/members/leave'],
  access: 'member',
  status: 200,
  response: plainResponse,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, person: { userId } }) => {
    const result = await removeMember(ctx.db, { workspaceId: caller.workspaceId, userId }, userId)
    if (result.kind !== 'changed') return refuseChange(result)
    return { body: { success: true, message: 'You left the workspace.' } }
  },
})

function refuseChange(result: MemberChange): Refusal {
  if (result.kind === 'last-owner') return LAST_OWNER
  if (result.kind !== 'beyond-rights') return NO_MEMBER
  return refuse('FORBIDDEN', `The role ${result.role} is above yours. Ask a member who has it.`)
}

function presentMember(member: WorkspaceMember, selfId: string): z.output<typeof memberSchema> {
  return {
    user_id: member.userId,
    email: member.email,
    name: member.name,
    role: member.role,
    is_self: member.userId === selfId,
    is_disabled: member.isDisabled,
    joined_at: member.joinedAt.toISOString(),
    last_used_at: member.lastUsedAt?.toISOString() ?? null,
  }
}

export const MEMBER_ROUTES: readonly AnyRoute[] = [list, leave, change, remove]
