/**
 * Unsubscribing by the links in a mail (RFC 8058): GET shows a page and changes nothing; POST acts immediately,
 * from any program and without a cookie. The same token opens the preferences page. src/tracking/unsubscribe.ts
 * makes the changes.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import {
  unsubscribe,
  findUnsubscribeTarget,
  readPreferences,
  savePreferences,
  undoUnsubscribe,
} from '#src/tracking/unsubscribe.ts'
import { createTrackingTokens, type ListRef } from '#src/tracking/tokens.ts'
import type { ApiContext } from '#api/http/context.ts'
import { invalidLinkPage } from '#api/pages/message-page.ts'
import {
  LIST_FIELD,
  contactGonePage,
  preferencesPage,
  restoredPage,
  unsubscribedPage,
  unsubscribePage,
} from '#api/pages/unsubscribe.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope } from '#api/http/response-schemas.ts'

const byToken = z.object({ token: z.string() })
const NO_LINK = refuse('NOT_FOUND', 'The link is incomplete, or it is not a link of this service.')
const refusalPage = (_: unknown, refusal: Refusal): Promise<ApiResponse> => Promise.resolve(invalidLinkPage(refusal))
/** Per link, not per network: mailbox providers post for all of their users from a few addresses. */
const LINK_LIMIT = { max: 60, windowMs: 10 * 60 * 1000 }

type OpenedLink = { readonly ref: ListRef } | { readonly refusal: Refusal }

/** Verifies the token before it accesses a store. */
async function openLink(ctx: ApiContext, token: string): Promise<OpenedLink> {
  const ref = createTrackingTokens(ctx.encryption).readList(token)
  if (ref === null) return { refusal: NO_LINK }
  const name = `unsubscribe:${ctx.encryption.mac('unsubscribe-pace', token).toString('base64url').slice(0, 22)}`
  const retryAfter = await ctx.attempts.consume(name, LINK_LIMIT)
  return retryAfter === null ? { ref } : { refusal: refuse('RATE_LIMITED', 'Too many attempts.', retryAfter) }
}

const showUnsubscribe = route({
  name: 'unsubscribe-page',
  summary: 'Show the page behind the unsubscribe link of a mail; changes nothing',
  method: 'GET',
  paths: ['/u/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params }) => {
    const opened = await openLink(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    const subscription = await findUnsubscribeTarget(ctx.db, opened.ref)
    return subscription === null ? contactGonePage() : unsubscribePage(subscription, params.token)
  },
})

const ONE_CLICK = /^\s*one-click\s*$/i
const unsubscribeBody = z.object({
  'List-Unsubscribe': z.string().optional().meta({ description: '`One-Click` unsubscribes' }),
  undo: z.string().optional().meta({ description: 'the undo token of the confirmation page: subscribes again' }),
})

const postUnsubscribe = route({
  name: 'unsubscribe',
  summary: 'Unsubscribe by the link in a mail (RFC 8058), or undo that',
  method: 'POST',
  paths: ['/u/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  body: unsubscribeBody,
  accepts: ['form', 'multipart', 'json'],
  status: 200,
  response: envelope(z.object({ status: z.enum(['unsubscribed', 'subscribed']) })),
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params, body, wantsPage }) => {
    const opened = await openLink(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    if (body.undo !== undefined) return respondToUndo(ctx, body.undo, wantsPage)
    if (!ONE_CLICK.test(body['List-Unsubscribe'] ?? ''))
      return invalid([{ path: 'List-Unsubscribe', message: 'must be One-Click' }])
    const result = await unsubscribe(ctx, opened.ref)
    if (!wantsPage) return respondWithStatus('unsubscribed')
    return result.kind === 'nobody' ? contactGonePage() : unsubscribedPage(result.target, params.token, result.undo)
  },
})

async function respondToUndo(ctx: ApiContext, undo: string, wantsPage: boolean): Promise<ApiResponse | Refusal> {
  const isRestored = await undoUnsubscribe(ctx, undo)
  if (!isRestored) return NO_LINK
  return wantsPage ? restoredPage() : respondWithStatus('subscribed')
}

function respondWithStatus(status: 'unsubscribed' | 'subscribed'): ApiResponse {
  return {
    body: {
      success: true,
      message: status === 'unsubscribed' ? 'Unsubscribed.' : 'Subscribed again.',
      data: { status },
    },
  }
}

const showPreferences = route({
  name: 'preferences-page',
  summary: 'Show the preferences page, where a person chooses what mail they receive; changes nothing',
  method: 'GET',
  paths: ['/p/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params }) => {
    const opened = await openLink(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    const found = await readPreferences(ctx.db, opened.ref)
    return found === null ? contactGonePage() : preferencesPage(found, false)
  },
})

const preferencesBody = z
  .looseObject({
    all: z.enum(['0', '1']).default('0').meta({ description: '`1`: opt out of all campaign and automation mail' }),
  })
  .meta({ description: `\`${LIST_FIELD}<audience id>\`: \`1\` for each audience to stay subscribed to` })

const postPreferences = route({
  name: 'save-preferences',
  summary: 'Save the choices of the preferences page',
  method: 'POST',
  paths: ['/p/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  body: preferencesBody,
  accepts: ['form', 'multipart'],
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params, body }) => {
    const opened = await openLink(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    const fields = Object.entries(body)
      .filter(([name]) => name.startsWith(LIST_FIELD))
      .map(([name, value]) => [name.slice(LIST_FIELD.length), value] as const)
    const wantedAudiences = new Set(fields.filter(([, value]) => value === '1').map(([id]) => id))
    const shownAudiences = new Set(fields.map(([id]) => id))
    const saved = await savePreferences(ctx, opened.ref, {
      shown: shownAudiences,
      audiences: wantedAudiences,
      isOptedOut: body.all === '1',
    })
    return saved === null ? contactGonePage() : preferencesPage(saved, true)
  },
})

export const UNSUBSCRIBE_ROUTES: readonly AnyRoute[] = [
  showUnsubscribe,
  postUnsubscribe,
  showPreferences,
  postPreferences,
]
