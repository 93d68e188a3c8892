/**
 * Access with the operator token. Guessing is limited: after MAX_REFUSED invalid tokens a network gets 429 for the rest
 * of the window, also with the right token, so that further guesses learn nothing. Each refused token is a line in the
 * log and counts in one operator notice. One notice for all networks: a guesser with many addresses could otherwise
 * push other notices out of the list. Without Redis each process counts for itself.
 */
import { networkOf } from '#src/net/address-policy.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import type { AttemptLimit } from '#src/rate-limits/attempt-limits.ts'
import type { ApiContext } from './context.ts'

export interface OperatorRequest {
  /** The X-Request-Id. */
  readonly id: string
  /** The client's IP address. */
  readonly address: string
  /** The name of the route. */
  readonly route: string
  /** The token of the request; null if it has none. */
  readonly credential: string | null
}

const TEN_MINUTES_MS = 10 * 60 * 1000
export const MAX_REFUSED: AttemptLimit = { max: 10, windowMs: TEN_MINUTES_MS }
const INVALID_TOKEN = refuse(
  'UNAUTHORIZED',
  'The operator token is missing or invalid. Send it as "Authorization: Bearer <token>".',
)

type AccessContext = Pick<ApiContext, 'attempts' | 'operatorToken' | 'notices' | 'log'>

/** Null if the request has the operator token. A request without any token is refused and not counted. */
export async function refuseOperator(ctx: AccessContext, request: OperatorRequest): Promise<Refusal | null> {
  const counter = `operator-token ${networkOf(request.address)}`
  const wait = await ctx.attempts.peek(counter, MAX_REFUSED)
  if (wait !== null) return limited(wait)
  if (request.credential === null) return INVALID_TOKEN
  if (ctx.operatorToken.matches(request.credential)) return null
  report(ctx, request)
  const exceeded = await ctx.attempts.consume(counter, MAX_REFUSED)
  return exceeded === null ? INVALID_TOKEN : limited(exceeded)
}

function limited(seconds: number): Refusal {
  return rateLimited('client_rate', 'Too many invalid operator tokens came from your network.', seconds)
}

function report(ctx: AccessContext, { id, address, route }: OperatorRequest): void {
  ctx.log.warn({ requestId: id, route, peer: address }, 'refused an invalid operator token')
  ctx.notices.raise({
    kind: 'operator-token-refused',
    subject: 'operator token',
    text:
      `An invalid operator token was refused, last from ${address === '' ? 'an unknown address' : address}. ` +
      'Correct the client if it is yours. Otherwise somebody guesses: make /api/v1/admin unreachable from outside.',
  })
}
