/**
 * What the endpoints of links that work once have in common: the token in the path, and a limit on requests of each
 * network. Guessing a token is hopeless; the limit keeps guesses from costing much.
 */
import { z } from 'zod'
import { networkOf } from '#src/net/address-policy.ts'
import { rateLimited, type Refusal } from '#src/platform/errors.ts'
import type { ApiContext } from './context.ts'

/** Of one network. */
const REQUESTS = { max: 100, windowMs: 600_000 }

/** The parameters of a path with a token. */
export const byToken = z.object({ token: z.string().max(128, 'is too long').meta({ description: 'of the link' }) })

/** Counts a request from `address`. The refusal says how many seconds to wait; null if the request may go on. */
export async function limitLinks(ctx: ApiContext, address: string): Promise<Refusal | null> {
  const wait = await ctx.attempts.consume(`one-time links ${networkOf(address)}`, REQUESTS)
  return wait === null ? null : rateLimited('client_rate', `Too many requests of links. Wait ${wait} s.`, wait)
}
