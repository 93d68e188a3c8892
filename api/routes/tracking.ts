/**
 * What readers of tracked mail request, at the shared host name or a customer's own: the open pixel, tracked links,
 * and the mail itself for "view in browser". The response is sent after the hit is committed. The token of a link
 * proves its target, so that nobody can use our host name for a redirect. Links of a suspended workspace or a removed
 * domain, and links that the operator blocked, lead nowhere (decision 041). Responses forbid caching, so that each hit
 * arrives. Most pixel and link requests never get here: tracking-hits.ts answers them.
 */
import { z } from 'zod'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { LINK_HEADERS, PIXEL, PIXEL_HEADERS } from '#api/http/tracking-hits.ts'
import { closedLinkPage, invalidLinkPage, mailGonePage } from '#api/pages/message-page.ts'
import { mailPage } from '#api/pages/mail-page.ts'
import type { ApiContext } from '#api/http/context.ts'
import { hostedMailHost } from '#api/http/hosted-mail-origin.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'

const NO_LINK = refuse('NOT_FOUND', 'The link is incomplete, or not of this service. Open it from the email again.')
/** Suspended, removed or blocked: the reader does not learn which. */
const CLOSED_LINK = refuse(
  'NOT_FOUND',
  'This link was switched off: its sender is closed, or it was blocked. Ask the sender.',
)
const refusalPage = (_: unknown, refusal: Refusal): Promise<ApiResponse> =>
  Promise.resolve(refusal === CLOSED_LINK ? closedLinkPage() : invalidLinkPage(refusal))

const openPixel = route({
  name: 'open-pixel',
  summary: 'Get the open pixel of a mail',
  method: 'GET',
  paths: ['/o/:token'],
  atRoot: true,
  access: 'public',
  params: z.object({ token: z.string() }),
  status: 200,
  produces: ['image/gif'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params, headers, address, isHead }) => {
    const hit = ctx.tracking.readOpen(params.token)
    if (hit === null) return NO_LINK
    if (await ctx.linkPolicy.isOpen(hit)) await ctx.tracking.record(hit, { headers, address, isHead })
    return { body: PIXEL, type: 'image/gif', headers: PIXEL_HEADERS }
  },
})

const followLink = route({
  name: 'follow-link',
  summary: 'Follow a tracked link: redirect to the URL that it had in the mail',
  method: 'GET',
  paths: ['/c/:token/:url'],
  atRoot: true,
  access: 'public',
  params: z.object({ token: z.string(), url: z.string() }),
  status: 302,
  errors: ['NOT_FOUND'],
  refusalPage,
  handle: async (ctx, { params, headers, address, isHead }) => {
    const hit = ctx.tracking.readClick(params.token, params.url)
    if (hit === null) return NO_LINK
    if (!(await ctx.linkPolicy.isOpen(hit))) return CLOSED_LINK
    await ctx.tracking.record(hit, { headers, address, isHead })
    return { headers: { Location: hit.url, ...LINK_HEADERS } }
  },
})

/** Per link: deferred content is rendered again for each view. */
const VIEW_LIMIT = { max: 60, windowMs: 10 * 60 * 1000 }

/** In the query after a redirect to the host of hosted mail, so that it happens once. */
const REDIRECTED = 'hosted'

function redirectToHost({ config }: ApiContext, token: string): ApiResponse {
  const url = `${config.hostedMailUrl ?? ''}/v/${encodeURIComponent(token)}?${REDIRECTED}=1`
  return { status: 302, headers: { Location: url, ...LINK_HEADERS } }
}

const viewMail = route({
  name: 'view-mail',
  summary: 'Show a mail in the browser of its recipient',
  method: 'GET',
  paths: ['/v/:token'],
  atRoot: true,
  access: 'public',
  params: z.object({ token: z.string() }),
  query: z.object({ [REDIRECTED]: z.string().optional().meta({ description: 'set by the redirect' }) }),
  status: 200,
  produces: ['text/html'],
  additionalResponses: { 302: { when: 'hosted mail has a host of its own (HOSTED_MAIL_URL)' } },
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params: { token }, query, headers }) => {
    const hostedHost = hostedMailHost(ctx.config)
    if (hostedHost !== null && headers.host?.toLowerCase() !== hostedHost)
      return query[REDIRECTED] === undefined ? redirectToHost(ctx, token) : NO_LINK // a proxy replaced Host
    const name = `view-mail:${ctx.encryption.mac('view-pace', token).toString('base64url').slice(0, 22)}`
    const retryAfter = await ctx.attempts.consume(name, VIEW_LIMIT)
    if (retryAfter !== null) return rateLimited('client_rate', 'Too many attempts.', retryAfter)
    const viewed = await ctx.mailView.find(token)
    if (viewed.kind === 'not-ours') return NO_LINK
    if (viewed.kind === 'closed') return CLOSED_LINK
    return viewed.kind === 'gone' ? mailGonePage() : mailPage(viewed.mail)
  },
})

export const TRACKING_ROUTES: readonly AnyRoute[] = [openPixel, followLink, viewMail]
