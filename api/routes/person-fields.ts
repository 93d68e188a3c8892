/** The fields and responses that the endpoints of people share. */
import { z, type ZodType } from 'zod'
import { parseAddress } from '#src/mail/address.ts'
import { MAX_PASSWORD, MIN_PASSWORD } from '#src/people/passwords.ts'
import { PERMISSIONS, ROLE_NAMES, type MemberRole, type Permission } from '#src/people/roles.ts'
import type { LoginCheck } from '#src/people/login.ts'
import type { StartedSession } from '#src/people/user-sessions.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { timestamp } from '#api/http/response-schemas.ts'

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
  .refine((text) => !/\p{Cc}/u.test(text), 'has control characters')

/** A present password. */
export const givenPassword = z.string().min(1, 'is empty').max(MAX_PASSWORD, `at most ${MAX_PASSWORD} characters`)

export const newPassword = z
  .string()
  .max(1000, 'is too long')
  .meta({ description: `${MIN_PASSWORD} to ${MAX_PASSWORD} characters, of any kind` })

export const roleField = z.enum(ROLE_NAMES as [MemberRole, ...MemberRole[]])
export const permissionField = z.enum(Object.keys(PERMISSIONS) as [Permission, ...Permission[]])
export const uuidParam = z.object({ id: z.string().meta({ description: 'a UUID' }) })

export const startedSession: ZodType = z
  .object({
    status: z.literal('signed_in').meta({ description: 'the session has started; the cookie is set' }),
    session: z.object({ id: z.uuid(), expires_at: timestamp.meta({ description: 'at the latest' }) }),
    user_id: z.uuid(),
  })
  .meta({ id: 'StartedSession' })

export function presentStarted(userId: string, { id, expiresAt }: StartedSession): Record<string, unknown> {
  return { status: 'signed_in', session: { id, expires_at: expiresAt.toISOString() }, user_id: userId }
}

export const OVERLOADED = refuse('SERVICE_UNAVAILABLE', 'Too many people sign in right now. Try again.', 2)

/** `wrong`: what a wrong password is answered with. */
export function refuseLogin(result: Exclude<LoginCheck, { kind: 'right' }>, wrong: Refusal): Refusal {
  if (result.kind === 'wrong') return wrong
  if (result.kind === 'overloaded') return OVERLOADED
  const message = `Too many attempts to sign in. Wait ${result.seconds} s.`
  return rateLimited('client_rate', message, result.seconds)
}
