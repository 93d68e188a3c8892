/** PATCH /admin/users/:id: the operator corrects a name or an address, and makes somebody an operator or not. */
import { z } from 'zod'
import { changeUser } from '#src/people/users.ts'
import { refuse } from '#src/platform/errors.ts'
import { route } from '#api/http/route.ts'
import { byUser, findByParam, LAST_OPERATOR, NO_USER, respondWithUser, userResponse } from './admin-user-view.ts'
import { personName, userEmail } from './person-fields.ts'

export const changeUserRoute = route({
  name: 'admin-change-user',
  summary: 'Change the name, the email address or the rights of a user; without the rights before, their sessions end',
  description: 'The address is not confirmed: check first that it is theirs. The last operator stays one.',
  method: 'PATCH',
  paths: ['/admin/users/:id'],
  access: 'operator',
  params: byUser,
  body: z
    .object({
      name: personName.optional(),
      email: userEmail.optional(),
      is_operator: z.boolean().optional().meta({ description: 'may use the endpoints of the operator' }),
    })
    .refine((given) => Object.values(given).some((value) => value !== undefined), {
      error: 'give name, email or is_operator',
    })
    .meta({ examples: [{ is_operator: true }] }),
  status: 200,
  response: userResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params, body }) => {
    const user = await findByParam(ctx, params.id)
    if (user === null) return NO_USER
    const { name = null, email = null, is_operator: isOperator = null } = body
    const result = await changeUser(ctx.db, user.id, { name, email, isOperator })
    if (result === 'not-found') return NO_USER
    if (result === 'last-operator') return LAST_OPERATOR
    if (result === 'taken') return refuse('CONFLICT', `Another user has the address ${email ?? ''}. Delete one first.`)
    return respondWithUser(ctx, user.id, 'The user is changed.')
  },
})
