/**
 * The link by which the owner of an address agrees that an inbound route forwards mail to it. Opening the link changes
 * nothing, since scanners of mail open links: the form does. A browser gets pages without scripts, a program JSON. The
 * second of two confirmations finds nothing.
 */
import { z } from 'zod'
import { confirmAddress, findLinkedAddress, type LinkedAddress } from '#src/inbound-mail/forward-addresses.ts'
import { CONFIRM_FORWARD_PATH } from '#src/people/one-time-links.ts'
import { hashSecretToken } from '#src/people/secret-token.ts'
import { refuse } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { byToken, limitLinks } from '#api/http/one-time-links.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { confirmForwardPage, forwardConfirmedPage, refusedLinkPage } from '#api/pages/one-time-page.ts'

const INVALID_LINK = refuse('NOT_FOUND', 'This link was used or replaced, or is too old. Ask for a new one.')
const FOREIGN = refuse('FORBIDDEN', 'The request came from another site. Open the link of the mail, and confirm there.')

const answer = envelope(
  z.object({
    address: z.string().meta({ description: 'the address that gets the mail' }),
    route_address: z.string().meta({ description: 'the address whose mail is forwarded' }),
  }),
)

async function findLink(ctx: ApiContext, token: string): Promise<(LinkedAddress & { tokenHash: Buffer }) | null> {
  const tokenHash = hashSecretToken(token)
  const found = tokenHash === null ? null : await findLinkedAddress(ctx.db, tokenHash)
  return found === null || tokenHash === null ? null : { ...found, tokenHash }
}

function dataOf({ address, routeAddress }: LinkedAddress): Record<string, unknown> {
  return { address, route_address: routeAddress }
}

const show = route({
  name: 'show-forward-confirmation',
  summary: 'Show which forwarding a link confirms; changes nothing',
  method: 'GET',
  paths: [`${CONFIRM_FORWARD_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  response: answer,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage: (_ctx, refusal) => Promise.resolve(refusedLinkPage(refusal)),
  handle: async (ctx, { params: { token }, address, wantsPage }) => {
    const limited = await limitLinks(ctx, address)
    if (limited !== null) return limited
    const found = await findLink(ctx, token)
    if (found === null) return INVALID_LINK
    if (wantsPage) return confirmForwardPage(found)
    return { body: { success: true, message: 'Post here to confirm.', data: dataOf(found) } }
  },
})

const confirm = route({
  name: 'confirm-forward',
  summary: 'Confirm by a link that an inbound route may forward mail to your address',
  method: 'POST',
  paths: [`${CONFIRM_FORWARD_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  accepts: ['json', 'form'],
  status: 200,
  response: answer,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'FORBIDDEN', 'RATE_LIMITED'],
  refusalPage: (_ctx, refusal) => Promise.resolve(refusedLinkPage(refusal)),
  handle: async (ctx, { id, params: { token }, headers, address, wantsPage }) => {
    if (isForeign(ctx.config, headers)) return FOREIGN
    const limited = await limitLinks(ctx, address)
    if (limited !== null) return limited
    const found = await findLink(ctx, token)
    if (found === null) return INVALID_LINK
    const actor = { kind: 'mailbox', name: found.address, action: 'confirm-forward', address, requestId: id } as const
    const db = ctx.db.attributedTo({ ...actor, workspaceId: found.workspaceId })
    if (!(await confirmAddress(db, found.tokenHash))) return INVALID_LINK
    if (wantsPage) return forwardConfirmedPage(found)
    return { body: { success: true, message: 'Mail is forwarded to you from now on.', data: dataOf(found) } }
  },
})

export const FORWARD_CONFIRMATION_ROUTES: readonly AnyRoute[] = [show, confirm]
