/**
 * The second factor of a login, and the authenticator app and recovery codes of a person. A wrong code and one that was
 * used get the same answer. Secrets and recovery codes are in one response only.
 */
import { z } from 'zod'
import { isRecentLogin } from '#src/people/login-methods.ts'
import { passkeyCheck, relyingPartyOf, startPasskeyLogin } from '#src/people/passkeys.ts'
import { findPendingLogin } from '#src/people/pending-logins.ts'
import { renewRecoveryCodes } from '#src/people/recovery-codes.ts'
import {
  codeCheck,
  confirmTotp,
  finishSecondFactor,
  listSecondFactors,
  startTotp,
  type ConfirmedTotp,
} from '#src/people/second-factors.ts'
import { invalid, rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { refusedLoginPage, secondFactorPage, signedInPage } from '#api/pages/login-page.ts'
import { FOREIGN_LOGIN, respondToLogin, startLoginSession } from './login-completion.ts'
import { NOT_RECENT } from './login-methods.ts'
import { loginToken, passkeyJson, passkeyOptions, returnTo, startedSession } from './person-fields.ts'

const WRONG = refuse('UNAUTHORIZED', 'The code or passkey is wrong, or was used already. Try the next code.')
const ENDED = refuse('CONFLICT', 'This login has ended: ten minutes have passed, or it was finished. Start again.')
export const NO_PASSKEYS = refuse('CONFLICT', 'Passkeys need a PUBLIC_URL with a host name. Use another login method.')

const finish = route({
  name: 'finish-login',
  summary:
    'Finish a login with the second factor: a code, a recovery code or a passkey; sets the cookie of the session',
  description: 'Wrong codes are limited for the user over all logins. Each code works once.',
  method: 'POST',
  paths: ['/auth/login/second-factor'],
  access: 'public',
  body: z.object({
    login_token: loginToken,
    code: z
      .string()
      .max(40, 'is too long')
      .optional()
      .meta({ description: 'of the authenticator app, or a recovery code' }),
    passkey: z
      .object({ token: loginToken.meta({ description: 'of start-second-factor-passkey' }), response: passkeyJson })
      .optional()
      .meta({ description: 'instead of a code' }),
    return_to: returnTo,
  }),
  accepts: ['json', 'form'],
  status: 200,
  response: envelope(startedSession).meta({ id: 'FinishLoginAnswer' }),
  produces: ['text/html'],
  errors: ['UNAUTHORIZED', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  refusalPage: (_ctx, refusal, { body }) => Promise.resolve(againPage(refusal, body)),
  handle: async (ctx, request) => {
    const { body, headers, wantsPage } = request
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const { login_token: token, code, passkey } = body
    const party = relyingPartyOf(ctx.config)
    if (passkey !== undefined && party === null) return NO_PASSKEYS
    if (passkey === undefined && code === undefined) return invalid([{ path: 'code', message: 'is required' }])
    const check =
      passkey === undefined || party === null ? codeCheck(ctx, code ?? '') : passkeyCheck(ctx, party, passkey)
    const result = await finishSecondFactor(ctx, token, check)
    if (result.kind === 'ended') return ENDED
    if (result.kind === 'wrong') return WRONG
    if (result.kind === 'limited')
      return rateLimited('client_rate', `Too many wrong codes. Wait ${result.seconds} s.`, result.seconds)
    const { userId, methods } = result
    const answer = respondToLogin(
      ctx,
      await startLoginSession(ctx, request, { action: 'finish-login', userId, methods }),
    )
    if (!wantsPage) return answer
    const next = body.return_to ?? '/'
    const shown = signedInPage(next)
    return { ...shown, headers: { ...shown.headers, ...answer.headers, Refresh: `0; url=${next}` } }
  },
})

/** The form again, after a wrong code. */
function againPage(refusal: Refusal, body: unknown): ReturnType<typeof refusedLoginPage> {
  const given = z.object({ login_token: loginToken, return_to: returnTo }).safeParse(body)
  if (refusal.error !== 'UNAUTHORIZED' || !given.success) return refusedLoginPage(refusal)
  return secondFactorPage({ token: given.data.login_token, next: given.data.return_to ?? '/' }, refusal.message)
}

const startPasskeyFactor = route({
  name: 'start-second-factor-passkey',
  summary: 'Get the options of a passkey as second factor of a login',
  method: 'POST',
  paths: ['/auth/login/second-factor/passkey'],
  access: 'public',
  body: z.object({ login_token: loginToken }),
  status: 200,
  response: passkeyOptions,
  errors: ['FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { body, headers }) => {
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const party = relyingPartyOf(ctx.config)
    if (party === null) return NO_PASSKEYS
    const pending = await findPendingLogin(ctx.db, 'second-factor', body.login_token)
    if (pending?.userId == null) return ENDED
    const data = await startPasskeyLogin(ctx, party, pending.userId)
    return { body: { success: true, message: 'Ask the authenticator, then call finish-login.', data } }
  },
})

const start = route({
  name: 'start-totp',
  summary: 'Begin to add an authenticator app: get its secret; nothing is stored before confirm-totp',
  description: 'Needs a login within the last 15 minutes.',
  method: 'POST',
  paths: ['/auth/totp'],
  access: 'person',
  status: 200,
  response: envelope(
    z.object({
      secret: z.string().meta({ description: 'in base32, to type it' }),
      uri: z.string().meta({ description: '`otpauth://…`, to show it as a QR code' }),
      enrolment: z.string().meta({ description: 'for confirm-totp, within 10 minutes' }),
    }),
  ),
  errors: ['FORBIDDEN'],
  handle: (ctx, { person }) =>
    Promise.resolve(
      isRecentLogin(person, ctx.clock.now())
        ? { body: { success: true, message: 'Add it to the app, then confirm a code.', data: startTotp(ctx, person) } }
        : NOT_RECENT,
    ),
})

const codesResponse = envelope(
  z.object({
    recovery_codes: z.array(z.string()).meta({ description: 'each works once; shown only here: print or store them' }),
  }),
).meta({ id: 'RecoveryCodesAnswer' })

const confirm = route({
  name: 'confirm-totp',
  summary: 'Add the authenticator app with a code of it; get recovery codes. All your other sessions end',
  method: 'POST',
  paths: ['/auth/totp/confirm'],
  access: 'person',
  body: z.object({
    enrolment: z.string().max(1000, 'is too long').meta({ description: 'of start-totp' }),
    code: z.string().max(20, 'is too long').meta({ description: 'that the app shows' }),
  }),
  status: 200,
  response: codesResponse,
  errors: ['FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  handle: async (ctx, { person, body }) => {
    if (!isRecentLogin(person, ctx.clock.now())) return NOT_RECENT
    const wait = await ctx.attempts.consume(`confirm totp ${person.userId}`, CONFIRMATIONS)
    if (wait !== null) return rateLimited('client_rate', `Too many codes. Wait ${wait} s.`, wait)
    const result = await confirmTotp(ctx, person, body)
    if (result.kind !== 'added') return UNCONFIRMED[result.kind]
    const message = 'The authenticator app is added. Store the recovery codes: they are not shown again.'
    return { body: { success: true, message, data: { recovery_codes: result.recoveryCodes } } }
  },
})

const CONFIRMATIONS = { max: 10, windowMs: 600_000 }
const UNCONFIRMED: Readonly<Record<Exclude<ConfirmedTotp['kind'], 'added'>, Refusal>> = {
  'wrong-code': refuse('FORBIDDEN', 'The code is wrong. Check the clock of the device, and send the next code.'),
  ended: refuse('CONFLICT', 'Ten minutes have passed since start-totp. Call it again.'),
  exists: refuse('CONFLICT', 'You have an authenticator app. Remove it with remove-login-method first.'),
}

const renew = route({
  name: 'renew-recovery-codes',
  summary: 'Get new recovery codes; the present ones stop working',
  description: 'For somebody with a second factor. Needs a login within the last 15 minutes.',
  method: 'POST',
  paths: ['/auth/recovery-codes'],
  access: 'person',
  status: 200,
  response: codesResponse,
  errors: ['FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { person }) => {
    if (!isRecentLogin(person, ctx.clock.now())) return NOT_RECENT
    if ((await listSecondFactors(ctx.db, person.userId)).length === 0)
      return refuse('CONFLICT', 'You have no second factor. Add one with start-totp or start-passkey first.')
    const codes = await ctx.db.transaction((tx) => renewRecoveryCodes(tx, person.userId))
    return {
      body: { success: true, message: 'Store the codes: they are not shown again.', data: { recovery_codes: codes } },
    }
  },
})

export const SECOND_FACTOR_ROUTES: readonly AnyRoute[] = [finish, startPasskeyFactor, start, confirm, renew]
