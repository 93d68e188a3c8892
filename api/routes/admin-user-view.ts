/** A user as the endpoints of the operator show them, and what these endpoints share. */
import { z } from 'zod'
import { findUser, type User } from '#src/people/users.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'

export const userSchema = z
  .object({
    id: z.uuid(),
    email: z.string(),
    name: z.string(),
    is_operator: z.boolean(),
    methods: z.array(z.string()).meta({ description: 'what the user signs in with' }),
    disabled_at: timestamp.nullable(),
    created_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'of their sessions' }),
  })
  .meta({ id: 'User' })
export const userResponse = envelope(userSchema).meta({ id: 'UserAnswer' })
export const byUser = z.object({ id: z.string().meta({ description: 'the UUID of the user, or the email address' }) })

export const NO_USER = refuse('NOT_FOUND', 'There is no such user. List them with admin-list-users.')
export const LAST_OPERATOR = refuse('CONFLICT', 'This is the last operator who can sign in. Create another one first.')
export function findByParam(ctx: Pick<ApiContext, 'db'>, id: string): Promise<User | null> {
  return findUser(ctx.db, isUuid(id) ? { id } : { email: id })
}

export async function respondWithUser(
  ctx: Pick<ApiContext, 'db'>,
  id: string,
  message: string,
): Promise<Refusal | { readonly body: object }> {
  const user = await findUser(ctx.db, { id })
  return user === null ? NO_USER : { body: { success: true, message, data: presentUser(user) } }
}

export function presentUser(user: User): Record<string, unknown> {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    is_operator: user.isOperator,
    methods: user.methods,
    disabled_at: user.disabledAt?.toISOString() ?? null,
    created_at: user.createdAt.toISOString(),
    last_used_at: user.lastUsedAt?.toISOString() ?? null,
  }
}
