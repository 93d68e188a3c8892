/** What a person signs in with: the list, and the removal of one. */
import { z } from 'zod'
import {
  isRecentLogin,
  listLoginMethods,
  RECENT_MINUTES,
  removeLoginMethod,
  type LoginMethod,
} from '#src/people/login-methods.ts'
import { refuse } from '#src/platform/errors.ts'
import { countText } from '#src/platform/plural.ts'
import { isUuid } from '#src/platform/id.ts'
import { envelope, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { uuidParam } from './person-fields.ts'

export const NOT_RECENT = refuse(
  'FORBIDDEN',
  `This needs a login within the last ${RECENT_MINUTES} minutes. Sign in again first.`,
)
const NO_METHOD = refuse('NOT_FOUND', 'You have no such login method. List them with list-login-methods.')
const LAST = refuse('CONFLICT', 'You could not sign in any more. Add another login method first.')

const methodSchema = z
  .object({
    id: z.uuid(),
    kind: z.enum(['password', 'oidc', 'passkey', 'totp', 'recovery_codes']),
    name: z.string().nullable().meta({ description: 'of a provider or passkey' }),
    email: z.string().nullable().meta({ description: 'the address at the provider' }),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'LoginMethod' })

const list = route({
  name: 'list-login-methods',
  summary: 'List what you sign in with, the oldest first',
  method: 'GET',
  paths: ['/auth/login-methods'],
  access: 'person',
  status: 200,
  response: envelope(z.object({ login_methods: z.array(methodSchema) })),
  errors: [],
  handle: async (ctx, { person }) => {
    const methods = (await listLoginMethods(ctx.db, person.userId)).map(present)
    return {
      body: {
        success: true,
        message: `${countText(methods.length, 'login method')}.`,
        data: { login_methods: methods },
      },
    }
  },
})

const remove = route({
  name: 'remove-login-method',
  summary: 'Remove something that you sign in with; the last one stays',
  description: 'Needs a login within the last 15 minutes. Recovery codes go with the authenticator app.',
  method: 'DELETE',
  paths: ['/auth/login-methods/:id'],
  access: 'person',
  params: uuidParam,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { person, params: { id } }) => {
    if (!isRecentLogin(person, ctx.clock.now())) return NOT_RECENT
    const result = isUuid(id) ? await removeLoginMethod(ctx.db, person.userId, id) : 'not-found'
    if (result === 'not-found') return NO_METHOD
    if (result === 'last') return LAST
    return { body: { success: true, message: 'The login method is removed.' } }
  },
})

function present(method: LoginMethod): Record<string, unknown> {
  const { id, kind, name, email } = method
  return {
    id,
    kind,
    name,
    email,
    created_at: method.createdAt.toISOString(),
    last_used_at: method.lastUsedAt?.toISOString() ?? null,
  }
}

export const LOGIN_METHOD_ROUTES: readonly AnyRoute[] = [list, remove]
