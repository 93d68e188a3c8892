/**
 * Unsubscribing by the links of a mail (RFC 8058): a look shows a page and changes nothing, a post acts at once, from whatever program it
 * comes and without a cookie. The same token opens the preferences. What happens is settled in src/tracking/unsubscribe.ts.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { leave, readLeaving, readPreferences, savePreferences, undoLeaving } from '#src/tracking/unsubscribe.ts'
import { createTokens, type ListRef } from '#src/tracking/tokens.ts'
import type { ApiContext } from '#api/http/context.ts'
import { noLinkPage } from '#api/pages/mail.ts'
import {
  LIST_FIELD,
  nobodyPage,
  preferencesPage,
  restoredPage,
  unsubscribedPage,
  unsubscribePage,
} from '#api/pages/unsubscribe.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'

const byToken = z.object({ token: z.string() })
const NO_LINK = refuse('NOT_FOUND', 'The link is not complete, or none of ours.')
const refusalPage = (_: unknown, refusal: Refusal): Promise<Answer> => Promise.resolve(noLinkPage(refusal))
/** Of one link. Receivers post for all of their users from few addresses: by network nothing is counted. */
const PER_LINK = { max: 60, windowMs: 10 * 60 * 1000 }

type Opened = { readonly ref: ListRef } | { readonly refusal: Refusal }

/** Proves the token before anything is asked of a store. */
async function open(ctx: ApiContext, token: string): Promise<Opened> {
  const ref = createTokens(ctx.vault).readList(token)
  if (ref === null) return { refusal: NO_LINK }
  const name = `unsubscribe:${ctx.vault.mac('unsubscribe-pace', token).toString('base64url').slice(0, 22)}`
  const retryAfter = await ctx.attempts.take(name, PER_LINK)
  return retryAfter === null ? { ref } : { refusal: refuse('RATE_LIMITED', 'Too many attempts.', retryAfter) }
}

const ask = route({
  name: 'unsubscribe-page',
  summary: 'The page behind the unsubscribe link of a mail; changes nothing',
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
    const opened = await open(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    const asked = await readLeaving(ctx.db, opened.ref)
    return asked === null ? nobodyPage() : unsubscribePage(asked, params.token)
  },
})

const ONE_CLICK = /^\s*one-click\s*$/i
const wish = z.object({
  'List-Unsubscribe': z.string().optional().meta({ description: '`One-Click` unsubscribes' }),
  undo: z.string().optional().meta({ description: 'from the page that told of it: undoes it' }),
})

const act = route({
  name: 'unsubscribe',
  summary: 'Unsubscribe by the link of a mail (RFC 8058), or undo it',
  method: 'POST',
  paths: ['/u/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  body: wish,
  accepts: ['form', 'multipart', 'json'],
  status: 200,
  answer: enveloped(z.object({ status: z.enum(['unsubscribed', 'subscribed']) })),
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params, body, wantsPage }) => {
    const opened = await open(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    if (body.undo !== undefined) return restore(ctx, body.undo, wantsPage)
    if (!ONE_CLICK.test(body['List-Unsubscribe'] ?? ''))
      return invalid([{ path: 'List-Unsubscribe', message: 'must be One-Click' }])
    const left = await leave(ctx, opened.ref)
    if (!wantsPage) return told('unsubscribed')
    return left.kind === 'nobody' ? nobodyPage() : unsubscribedPage(left.asked, params.token, left.undo)
  },
})

async function restore(ctx: ApiContext, undo: string, wantsPage: boolean): Promise<Answer | Refusal> {
  const isRestored = await undoLeaving(ctx, undo)
  if (!isRestored) return NO_LINK
  return wantsPage ? restoredPage() : told('subscribed')
}

function told(status: 'unsubscribed' | 'subscribed'): Answer {
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
  summary: 'The page on which a person chooses what mail they get; changes nothing',
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
    const opened = await open(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    const found = await readPreferences(ctx.db, opened.ref)
    return found === null ? nobodyPage() : preferencesPage(found, false)
  },
})

const choices = z
  .looseObject({
    all: z.enum(['0', '1']).default('0').meta({ description: '`1`: no mail of campaigns and automations at all' }),
  })
  .meta({ description: `\`${LIST_FIELD}<audience id>\`: \`1\` for each audience whose mail is wanted` })

const postPreferences = route({
  name: 'save-preferences',
  summary: 'Save what mail a person gets: the button of that page',
  method: 'POST',
  paths: ['/p/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  body: choices,
  accepts: ['form', 'multipart'],
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage,
  handle: async (ctx, { params, body }) => {
    const opened = await open(ctx, params.token)
    if ('refusal' in opened) return opened.refusal
    const fields = Object.entries(body)
      .filter(([name]) => name.startsWith(LIST_FIELD))
      .map(([name, value]) => [name.slice(LIST_FIELD.length), value] as const)
    const wanted = new Set(fields.filter(([, value]) => value === '1').map(([id]) => id))
    const shown = new Set(fields.map(([id]) => id))
    const saved = await savePreferences(ctx, opened.ref, { shown, audiences: wanted, isOptedOut: body.all === '1' })
    return saved === null ? nobodyPage() : preferencesPage(saved, true)
  },
})

export const UNSUBSCRIBE_ROUTES: readonly AnyRoute[] = [ask, act, showPreferences, postPreferences]
