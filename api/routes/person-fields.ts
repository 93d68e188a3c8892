/** The fields and responses that the endpoints of people share. */
import { z, type ZodType } from 'zod'
import { HIDDEN_CHARACTERS, parseAddress } from '#src/mail/address.ts'
import { MAX_PASSWORD, MIN_PASSWORD } from '#src/people/passwords.ts'
import { PERMISSIONS, ROLE_NAMES, type MemberRole, type Permission } from '#src/people/roles.ts'
import type { LoginCheck } from '#src/people/login.ts'
import type { LoginMethodKind, StartedSession } from '#src/people/user-sessions.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'

const MAX_NAME = 100

/** In lower case. */
export const userEmail = z.string().transform((text, sink) => {
  const parsed = parseAddress(text.trim())
  if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
  return parsed.ok ? parsed.address.address.toLowerCase() : z.NEVER
})

/** An address that is compared only: it need not be valid. */
export const loginEmail = z.string().trim().max(320, 'is too long')

export const personName = z
  .string()
  .trim()
  .min(1, 'is empty')
  .max(MAX_NAME, `at most ${MAX_NAME} characters`)
  .refine((text) => !HIDDEN_CHARACTERS.test(text), 'has control characters')

/** A present password. */
export const givenPassword = z.string().min(1, 'is empty').max(MAX_PASSWORD, `at most ${MAX_PASSWORD} characters`)

export const newPassword = z
  .string()
  .max(1000, 'is too long')
  .meta({ description: `${MIN_PASSWORD} to ${MAX_PASSWORD} characters, of any kind` })

export const roleField = z.enum(ROLE_NAMES as [MemberRole, ...MemberRole[]])
export const permissionField = z.enum(Object.keys(PERMISSIONS) as [Permission, ...Permission[]])
export const uuidParam = z.object({ id: z.string().meta({ description: 'a UUID' }) })

/** Without a second slash, which would begin a host. Browsers read a backslash as a slash. */
export const returnTo = z
  .string()
  .max(500, 'is too long')
  .regex(/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/, 'must be a path of this service, such as /campaigns')
  .optional()
  .meta({ description: 'a path of this service where the browser continues; by default `/`' })

export const startedSession: ZodType = z
  .object({
    status: z.enum(['signed_in', 'second_factor']).meta({
      description: 'signed_in: the cookie of the session is set. second_factor: send one with login_token',
    }),
    session: z
      .object({ id: z.uuid(), expires_at: timestamp.meta({ description: 'at the latest' }) })
      .nullable()
      .meta({ description: 'the session that has started; null before the second factor' }),
    user_id: z.uuid().nullable().meta({ description: 'the id of the user; null before the second factor' }),
    login_token: z
      .string()
      .nullable()
      .meta({ description: 'for finish-login, within 10 minutes; null once the session has started' }),
    second_factors: z
      .array(z.enum(['totp', 'passkey', 'recovery_codes']))
      .meta({ description: 'what the person may send; empty once the session has started' }),
  })
  .meta({ id: 'StartedSession' })

export const passkeyOptions = envelope(
  z.object({
    token: z.string().meta({ description: 'belongs to the challenge of the options; works once' }),
    options: z.looseObject({}).meta({ description: 'for `navigator.credentials`, as JSON of WebAuthn' }),
  }),
).meta({ id: 'PasskeyOptionsAnswer' })

export const loginToken = z.string().max(128, 'is too long').meta({ description: 'the login_token of the login' })

export const passkeyJson = z
  .looseObject({ id: z.string().max(2000, 'is too long').optional().meta({ description: 'of the credential' }) })
  .meta({ description: 'what `navigator.credentials` returned, as JSON of WebAuthn' })

/** How far a login is. */
export type LoginProgress =
  | { readonly kind: 'signed-in'; readonly userId: string; readonly started: StartedSession }
  | { readonly kind: 'second-factor'; readonly token: string; readonly factors: readonly LoginMethodKind[] }

export function presentProgress(progress: LoginProgress): Record<string, unknown> {
  if (progress.kind === 'second-factor') {
    const { token, factors } = progress
    return { status: 'second_factor', session: null, user_id: null, login_token: token, second_factors: factors }
  }
  const { id, expiresAt } = progress.started
  const session = { id, expires_at: expiresAt.toISOString() }
  return { status: 'signed_in', session, user_id: progress.userId, login_token: null, second_factors: [] }
}

export const OVERLOADED = refuse('SERVICE_UNAVAILABLE', 'Too many people sign in right now. Try again.', 2)

/** `wrong`: what a wrong password is answered with. */
export function refuseLogin(result: Exclude<LoginCheck, { kind: 'right' }>, wrong: Refusal): Refusal {
  if (result.kind === 'wrong') return wrong
  if (result.kind === 'overloaded') return OVERLOADED
  const message = `Too many attempts to sign in. Wait ${result.seconds} s.`
  return rateLimited('client_rate', message, result.seconds)
}
