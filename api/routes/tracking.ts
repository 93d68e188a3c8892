/**
 * What readers of tracked mail ask for: the open pixel and the links, at the shared name or a customer's own. The answer comes after the
 * hit is committed; where a link leads is proved by its token, so that nobody borrows our name for a redirect. Nothing is kept by whoever
 * is between: the next hit is another. Most of them do not get here (hit-answers.ts). And the mail itself, for the link "view in browser".
 */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { LINK_HEADERS, PIXEL, PIXEL_HEADERS } from '#api/http/hit-answers.ts'
import { noLinkPage, noMailPage } from '#api/pages/mail.ts'
import { shownMailPage } from '#api/pages/shown-mail.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'

const NO_LINK = refuse('NOT_FOUND', 'The link is not complete, or none of ours.')
const refusalPage = (_: unknown, refusal: Refusal): Promise<Answer> => Promise.resolve(noLinkPage(refusal))

const open = route({
  name: 'open-pixel',
  summary: 'The open pixel of a mail',
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
    await ctx.tracking.take(hit, { headers, address, isHead })
    return { body: PIXEL, type: 'image/gif', headers: PIXEL_HEADERS }
  },
})

const click = route({
  name: 'follow-link',
  summary: 'A tracked link: leads to where it led in the mail, and nowhere else',
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
    await ctx.tracking.take(hit, { headers, address, isHead })
    return { headers: { Location: hit.url, ...LINK_HEADERS } }
  },
})

/** Of one link: a recipe is rendered anew for each. */
const VIEWS = { max: 60, windowMs: 10 * 60 * 1000 }

const view = route({
  name: 'view-mail',
  summary: 'A mail in the browser, for whom it was sent to',
  method: 'GET',
  paths: ['/v/:token'],
  atRoot: true,
  access: 'public',
  params: z.object({ token: z.string() }),
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params: { token } }) => {
    const name = `view-mail:${ctx.vault.mac('view-pace', token).toString('base64url').slice(0, 22)}`
    const retryAfter = await ctx.attempts.take(name, VIEWS)
    if (retryAfter !== null) return refuse('RATE_LIMITED', 'Too many attempts.', retryAfter)
    const viewed = await ctx.mailView.find(token)
    if (viewed.kind === 'not-ours') return NO_LINK
    return viewed.kind === 'gone' ? noMailPage() : shownMailPage(viewed.mail)
  },
})

export const TRACKING_ROUTES: readonly AnyRoute[] = [open, click, view]
