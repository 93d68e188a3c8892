/** Passkeys: adding one, and signing in with one without a password. */
import { z } from 'zod'
import { networkOf } from '#src/net/address-policy.ts'
import { isRecentLogin } from '#src/people/login-methods.ts'
import {
  addPasskey,
  checkPasskey,
  relyingPartyOf,
  startNewPasskey,
  startPasskeyLogin,
  type AddedPasskey,
} from '#src/people/passkeys.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { FOREIGN_LOGIN, respondToLogin, startLoginSession } from './login-completion.ts'
import { NOT_RECENT } from './login-methods.ts'
import { loginToken, passkeyJson, passkeyOptions, personName, startedSession } from './person-fields.ts'
import { NO_PASSKEYS } from './second-factors.ts'

/** Of one network. */
const PASSKEY_LOGINS = { max: 100, windowMs: 600_000 }
const WRONG = refuse('UNAUTHORIZED', 'This passkey is not known here, or the login has ended. Start again.')

async function limitLogins(ctx: Pick<ApiContext, 'attempts'>, address: string): Promise<Refusal | null> {
  const wait = await ctx.attempts.consume(`passkey login ${networkOf(address)}`, PASSKEY_LOGINS)
  return wait === null ? null : rateLimited('client_rate', `Too many logins with passkeys. Wait ${wait} s.`, wait)
}

const start = route({
  name: 'start-passkey',
  summary: 'Begin to add a passkey: get its options',
  description: 'Needs a login within the last 15 minutes.',
  method: 'POST',
  paths: ['/auth/passkeys/options'],
  access: 'person',
  status: 200,
  response: passkeyOptions,
  errors: ['FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { person }) => {
    if (!isRecentLogin(person, ctx.clock.now())) return NOT_RECENT
    const party = relyingPartyOf(ctx.config)
    if (party === null) return NO_PASSKEYS
    const data = await startNewPasskey(ctx, party, person)
    return { body: { success: true, message: 'Ask the authenticator, then call add-passkey.', data } }
  },
})

const REFUSALS: Readonly<Record<Exclude<AddedPasskey['kind'], 'added'>, Refusal>> = {
  ended: refuse('CONFLICT', 'The options were used, or ten minutes have passed. Call start-passkey again.'),
  invalid: refuse('CONFLICT', 'The response of the authenticator is not valid here. Call start-passkey again.'),
  exists: refuse('CONFLICT', 'This passkey is added already. List it with list-login-methods.'),
}

const add = route({
  name: 'add-passkey',
  summary: 'Add a passkey, to sign in without a password or as second factor. All your other sessions end',
  method: 'POST',
  paths: ['/auth/passkeys'],
  access: 'person',
  body: z.object({
    token: loginToken.meta({ description: 'of start-passkey' }),
    name: personName.meta({ description: 'as you call it, such as the device' }),
    response: passkeyJson,
  }),
  status: 201,
  response: envelope(z.object({ id: z.uuid(), name: z.string() })),
  errors: ['FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { person, body }) => {
    const party = relyingPartyOf(ctx.config)
    if (party === null) return NO_PASSKEYS
    const added = await addPasskey(ctx, party, person, body)
    if (added.kind !== 'added') return REFUSALS[added.kind]
    return { body: { success: true, message: 'The passkey is added.', data: { id: added.id, name: body.name } } }
  },
})

const startLogin = route({
  name: 'start-passkey-login',
  summary: 'Begin to sign in with a passkey: get the options',
  method: 'POST',
  paths: ['/auth/login/passkey/options'],
  access: 'public',
  body: z.object({}),
  status: 200,
  response: passkeyOptions,
  errors: ['FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  handle: async (ctx, { headers, address }) => {
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const refusal = await limitLogins(ctx, address)
    if (refusal !== null) return refusal
    const party = relyingPartyOf(ctx.config)
    if (party === null) return NO_PASSKEYS
    const data = await startPasskeyLogin(ctx, party, null)
    return { body: { success: true, message: 'Ask the authenticator, then call passkey-login.', data } }
  },
})

const login = route({
  name: 'passkey-login',
  summary: 'Sign in with a passkey, without a password; the response sets the cookie of a new session',
  description: 'The authenticator has verified the person, so no second factor is asked for.',
  method: 'POST',
  paths: ['/auth/login/passkey'],
  access: 'public',
  body: z.object({ token: loginToken.meta({ description: 'of start-passkey-login' }), response: passkeyJson }),
  status: 200,
  response: envelope(startedSession).meta({ id: 'PasskeyLoginAnswer' }),
  errors: ['UNAUTHORIZED', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  handle: async (ctx, request) => {
    if (isForeign(ctx.config, request.headers)) return FOREIGN_LOGIN
    const refusal = await limitLogins(ctx, request.address)
    if (refusal !== null) return refusal
    const party = relyingPartyOf(ctx.config)
    if (party === null) return NO_PASSKEYS
    const userId = await checkPasskey(ctx, party, request.body)
    if (userId === null) return WRONG
    const checked = { action: 'passkey-login', userId, methods: ['passkey'] } as const
    return respondToLogin(ctx, await startLoginSession(ctx, request, checked))
  },
})

export const PASSKEY_ROUTES: readonly AnyRoute[] = [start, add, startLogin, login]
