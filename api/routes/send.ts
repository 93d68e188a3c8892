/**
 * POST /send-email/{instant,high,async,bulk}: one message through one tier. The 200 is sent after the message is
 * durably stored.
 */
import { TIERS, type Tier } from '#src/queue/tiers.ts'
import { isRefusal } from '#api/http/response.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type ApiResponse, type AnyRoute, type ApiRequest } from '#api/http/route.ts'
import type { Refusal } from '#src/platform/errors.ts'
import { queuedResponse } from '#api/sending/response-schemas.ts'
import { sendBody } from '#api/sending/body.ts'
import { bindSender } from '#api/sending/session-sender.ts'
import { readClaim, send, type SendResult } from '#api/sending/send.ts'

/** The endpoint names of each tier, the documented one first. */
const ENDPOINT_NAMES: Readonly<Record<Tier, readonly string[]>> = {
  instant: ['instant'],
  high: ['high'],
  normal: ['async', 'normal', 'queue'],
  bulk: ['bulk'],
}

/** Every endpoint below /send-email also exists below /public/send-email. */
export function sendingPaths(...names: readonly string[]): [string, ...string[]] {
  const paths = [...names.map((name) => `/send-email/${name}`), ...names.map((name) => `/public/send-email/${name}`)]
  return paths as [string, ...string[]]
}

export const SENDING_ERRORS = [
  'INVALID_TEMPLATE',
  'IDEMPOTENCY_MISMATCH',
  'IDEMPOTENCY_IN_PROGRESS',
  'PAYLOAD_TOO_LARGE',
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
] as const

function sendRoute(tier: Tier): AnyRoute {
  return route({
    name: `send-${TIERS[tier].queue}`,
    summary: `Send one message, tier ${tier}: ${TIERS[tier].estimatedDelivery}`,
    method: 'POST',
    paths: sendingPaths(...ENDPOINT_NAMES[tier]),
    access: 'regular',
    body: sendBody,
    status: 200,
    response: queuedResponse,
    countsQuota: true,
    errors: SENDING_ERRORS,
    handle: (ctx, request) => sendOne(ctx, request, tier),
  })
}

export const SEND_ROUTES: readonly AnyRoute[] = (Object.keys(ENDPOINT_NAMES) as Tier[]).map(sendRoute)

async function sendOne(
  ctx: ApiContext,
  request: ApiRequest<'regular', undefined, undefined, typeof sendBody>,
  tier: Tier,
): Promise<ApiResponse | Refusal> {
  const { body, headers } = request
  const caller = await bindSender(ctx, request.caller, body.from)
  if (isRefusal(caller)) return caller
  const read = readClaim(headers, `send ${tier}`, body)
  if (!read.ok) return read.refusal
  return respondToSend(await send(ctx, caller, { body, tier, scheduledAt: null, timezone: null }, read.claim))
}

export function respondToSend(sent: SendResult | Refusal): ApiResponse | Refusal {
  return isRefusal(sent) ? sent : { body: sent.answer, headers: sent.headers }
}
