/**
 * The proof of work of a form, if the operator switched it on (SUBSCRIBE_CHALLENGE_BITS): before a submission the
 * client finds a number whose SHA-256 with the challenge begins with that many zero bits. A person's browser needs a
 * second or two; a flood needs that for every address. A challenge is for one form, for half an hour and for one use.
 * Nothing is stored for one that is not used. Without Redis each process counts the uses by itself.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context } from '#src/context.ts'
import type { DigestKeys } from '#src/crypto/encryption.ts'
import type { AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'

export interface ChallengeContext extends Pick<Context, 'config' | 'encryption' | 'clock'> {
  readonly attempts: AttemptLimiter
}

const TTL_MS = 30 * 60 * 1000
const MAC_BYTES = 12
const CHALLENGE = /^([0-9a-z]{8,9})\.([\w-]{16})\.([\w-]{16})$/
const SOLUTION = /^\d{1,15}$/

/** `token` is that of the form. */
export function createChallenge(ctx: Pick<ChallengeContext, 'encryption' | 'clock'>, token: string): string {
  const plain = `${(ctx.clock.now() + TTL_MS).toString(36)}.${randomBytes(12).toString('base64url')}`
  return `${plain}.${macOf(ctx.encryption, token, plain).toString('base64url')}`
}

function macOf(keys: DigestKeys, token: string, plain: string): Buffer {
  return keys.mac('subscribe-challenge', `${token} ${plain}`).subarray(0, MAC_BYTES)
}

export interface SolvedChallenge {
  readonly challenge: string
  readonly solution: string
}

/** Whether a challenge of this form is solved, for the first time. */
export async function isSolved(
  ctx: ChallengeContext,
  token: string,
  { challenge, solution }: SolvedChallenge,
): Promise<boolean> {
  const [, expiry = '', random = '', mac = ''] = CHALLENGE.exec(challenge) ?? []
  if (mac === '' || !SOLUTION.test(solution)) return false
  const given = Buffer.from(mac, 'base64url')
  const isIssuedWith = (keys: DigestKeys): boolean => {
    const expected = macOf(keys, token, `${expiry}.${random}`)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  if (!ctx.encryption.validKeys.some(isIssuedWith)) return false
  if (Number.parseInt(expiry, 36) < ctx.clock.now()) return false
  if (leadingZeroBits(hashOf(challenge, solution)) < ctx.config.subscribeChallengeBits) return false
  return (await ctx.attempts.consume(`subscribe-challenge ${mac}`, { max: 1, windowMs: TTL_MS })) === null
}

function hashOf(challenge: string, solution: string): Buffer {
  return createHash('sha256').update(`${challenge}:${solution}`).digest()
}

function leadingZeroBits(hash: Buffer): number {
  const first = hash.findIndex((byte) => byte !== 0)
  return first < 0 ? hash.length * 8 : first * 8 + Math.clz32(hash[first] ?? 0) - 24
}
