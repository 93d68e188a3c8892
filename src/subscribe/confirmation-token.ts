/**
 * The token in a confirmation link: who asked to join which audience, and when it expires. It is encrypted, so nobody
 * can forge one, and a link in a log reveals no address. Nothing is stored: a person
 * who can read the message holds the proof.
 */
import { z } from 'zod'
import type { Context } from '#src/context.ts'
import { isUuid } from '#src/platform/id.ts'

export interface SubscriptionRequest {
  readonly workspaceId: string
  readonly audienceId: string
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
}

const PURPOSE = 'subscribe-proof'
const TOKEN_TTL_MS = 7 * 24 * 3600 * 1000
/** The longest names and address, in base64. */
const MAX_LENGTH = 4096
const TEXT = /^[A-Za-z0-9_-]+$/

const uuid = z.string().refine(isUuid)
const content = z.tuple([uuid, uuid, z.string(), z.string().nullable(), z.string().nullable(), z.number()])

/** Returns a token of letters, digits, `-` and `_`. */
export function createConfirmationToken(
  ctx: Pick<Context, 'encryption' | 'clock'>,
  request: SubscriptionRequest,
): string {
  const expiresAt = ctx.clock.now() + TOKEN_TTL_MS
  const { workspaceId, audienceId, email, firstName, lastName } = request
  return ctx.encryption
    .encrypt(PURPOSE, JSON.stringify([workspaceId, audienceId, email, firstName, lastName, expiresAt]))
    .toString('base64url')
}

/** Null if the token was not created here, or has expired. */
export function readConfirmationToken(
  ctx: Pick<Context, 'encryption' | 'clock'>,
  token: string,
): SubscriptionRequest | null {
  if (token.length > MAX_LENGTH || !TEXT.test(token)) return null
  const opened = decryptToken(ctx, Buffer.from(token, 'base64url'))
  if (opened === null) return null
  const read = content.safeParse(JSON.parse(opened))
  if (!read.success) return null // created by another version
  const [workspaceId, audienceId, email, firstName, lastName, expiresAt] = read.data
  return expiresAt < ctx.clock.now() ? null : { workspaceId, audienceId, email, firstName, lastName }
}

function decryptToken({ encryption }: Pick<Context, 'encryption'>, encrypted: Buffer): string | null {
  try {
    return encryption.decrypt(PURPOSE, encrypted).toString('utf8')
  } catch {
    return null // not created here
  }
}
