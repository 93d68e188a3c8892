/**
 * Unsubscribing by the links in a mail (RFC 8058): GET shows a page and changes nothing; POST acts immediately,
 * from any program and without a cookie. A link in mail of a campaign or automation names a contact, and its token also
 * opens the preferences page; a link in other bulk mail names an address. src/tracking/unsubscribe.ts and
 * src/tracking/bulk-unsubscribe.ts make the changes. An unsubscribe works for ever, also when the sender is suspended
 * or its domain removed; then the pages show no text of the sender, and nobody can subscribe again (decision 041).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { DEFAULT_LOOK, readLook, type Look } from '#src/branding/branding.ts'
import { invalid, rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import {
  unsubscribe,
  findUnsubscribeTarget,
  readPreferences,
  savePreferences,
  undoUnsubscribe,
} from '#src/tracking/unsubscribe.ts'
import { createAddressTokens, type AddressRef } from '#src/tracking/address-token.ts'
import { undoBulkUnsubscribe, unsubscribeFromBulk } from '#src/tracking/bulk-unsubscribe.ts'
import { createTrackingTokens, type ListRef } from '#src/tracking/tokens.ts'
import type { ApiContext } from '#api/http/context.ts'
import { invalidLinkPage } from '#api/pages/message-page.ts'
import {
  LIST_FIELD,
  closedSenderPage,
  contactGonePage,
  preferencesPage,
  restoredPage,
  subjectOf,
  unsubscribedPage,
  unsubscribePage,
  type UnsubscribeSubject,
} from '#api/pages/unsubscribe.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope } from '#api/http/response-schemas.ts'

const byToken = z.object({ token: z.string() })
const NO_LINK = refuse('NOT_FOUND', 'The link is incomplete, or not of this service. Open it from the email again.')
const refusalPage = (_: unknown, refusal: Refusal): Promise<ApiResponse> => Promise.resolve(invalidLinkPage(refusal))
/** Per link, not per network: mailbox providers post for all of their users from a few addresses. */
const LINK_LIMIT = { max: 60, windowMs: 10 * 60 * 1000 }

type UnsubscribeLink = { readonly isOpen: boolean } & (
  | { readonly kind: 'contact'; readonly ref: ListRef }
  | { readonly kind: 'address'; readonly ref: AddressRef }
)
type OpenedLink = UnsubscribeLink | { readonly kind: 'refused'; readonly refusal: Refusal }

type ReadLink =
  | { readonly kind: 'contact'; readonly ref: ListRef }
  | { readonly kind: 'address'; readonly ref: AddressRef }

function readLink(ctx: ApiContext, token: string): ReadLink | null {
  const list = createTrackingTokens(ctx.encryption).readList(token)
  if (list !== null) return { kind: 'contact', ref: list }
  const ref = createAddressTokens(ctx.encryption).read(token)
  return ref === null ? null : { kind: 'address', ref }
}

/** Verifies the token before it accesses a store. */
async function openLink(ctx: ApiContext, token: string): Promise<OpenedLink> {
  const link = readLink(ctx, token)
  if (link === null) return { kind: 'refused', refusal: NO_LINK }
  const name = `unsubscribe:${ctx.encryption.mac('unsubscribe-pace', token).toString('base64url').slice(0, 22)}`
  const retryAfter = await ctx.attempts.consume(name, LINK_LIMIT)
  if (retryAfter !== null)
    return { kind: 'refused', refusal: rateLimited('client_rate', 'Too many attempts.', retryAfter) }
  const sender = link.kind === 'contact' ? link.ref : { senderId: null, workspaceId: link.ref.workspaceId }
  return { ...link, isOpen: await ctx.linkPolicy.isListOpen(sender) }
}

/** The preferences page is for contacts. */
async function openPreferences(
  ctx: ApiContext,
  token: string,
): Promise<{ readonly ref: ListRef; readonly isOpen: boolean } | Refusal> {
  const link = await openLink(ctx, token)
  if (link.kind === 'contact') return link
  return link.kind === 'refused' ? link.refusal : NO_LINK
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
  handle: async (ctx, { params, headers }) => {
    const link = await openLink(ctx, params.token)
    if (link.kind === 'refused') return link.refusal
    if (link.kind === 'address')
      return unsubscribePage(subjectOfAddress(link.ref), await lookAt(ctx, link, { headers }))
    const target = await findUnsubscribeTarget(ctx.db, link.ref)
    if (target === null) return contactGonePage()
    if (!link.isOpen) return closedSenderPage(target, 'unsubscribe')
    return unsubscribePage(subjectOf(target, params.token), await lookAt(ctx, link, { headers, ...target }))
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
  handle: async (ctx, { params, body, wantsPage, headers }) => {
    const link = await openLink(ctx, params.token)
    if (link.kind === 'refused') return link.refusal
    if (body.undo !== undefined)
      return link.isOpen ? respondToUndo(ctx, link, { undo: body.undo, wantsPage, headers }) : NO_LINK
    if (!ONE_CLICK.test(body['List-Unsubscribe'] ?? ''))
      return invalid([{ path: 'List-Unsubscribe', message: 'must be One-Click' }])
    const page = await applyUnsubscribe(ctx, link, { token: params.token, headers })
    return wantsPage ? page : respondWithStatus('unsubscribed')
  },
})

interface LookHints {
  readonly headers: IncomingHttpHeaders
  readonly person?: { readonly language: string | null }
}

/** The branding of the sender; a closed sender has none, so that it cannot say something. */
async function lookAt(
  ctx: ApiContext,
  link: { readonly isOpen: boolean; readonly ref: { readonly workspaceId: string } },
  { headers, person }: LookHints,
): Promise<Look> {
  const visitor = { contactLanguage: person?.language ?? null, accepted: headers['accept-language'] }
  return link.isOpen ? readLook(ctx, link.ref.workspaceId, visitor) : DEFAULT_LOOK
}

async function applyUnsubscribe(
  ctx: ApiContext,
  link: UnsubscribeLink,
  { token, headers }: { readonly token: string; readonly headers: IncomingHttpHeaders },
): Promise<ApiResponse> {
  if (link.kind === 'address') {
    const undo = await unsubscribeFromBulk(ctx, link.ref)
    return unsubscribedPage(subjectOfAddress(link.ref), link.isOpen ? undo : null, await lookAt(ctx, link, { headers }))
  }
  const result = await unsubscribe(ctx, link.ref)
  if (result.kind === 'nobody') return contactGonePage()
  const { target, undo } = result
  if (!link.isOpen) return closedSenderPage(target, 'done')
  return unsubscribedPage(subjectOf(target, token), undo, await lookAt(ctx, link, { headers, ...target }))
}

function subjectOfAddress({ address }: AddressRef): UnsubscribeSubject {
  return { email: address, list: null, preferences: null }
}

async function respondToUndo(
  ctx: ApiContext,
  link: UnsubscribeLink,
  { undo, wantsPage, headers }: { undo: string; wantsPage: boolean; headers: IncomingHttpHeaders },
): Promise<ApiResponse | Refusal> {
  const isRestored =
    link.kind === 'address' ? await undoBulkUnsubscribe(ctx, link.ref, undo) : await undoUnsubscribe(ctx, undo)
  if (!isRestored) return NO_LINK
  return wantsPage ? restoredPage(await lookAt(ctx, link, { headers })) : respondWithStatus('subscribed')
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
  handle: async (ctx, { params, headers }) => {
    const opened = await openPreferences(ctx, params.token)
    if (isRefusal(opened)) return opened
    const found = await readPreferences(ctx.db, opened.ref)
    if (found === null) return contactGonePage()
    if (!opened.isOpen) return closedSenderPage(found, 'opt-out')
    return preferencesPage(found, false, await lookAt(ctx, opened, { headers, ...found }))
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
  handle: async (ctx, { params, body, headers }) => {
    const opened = await openPreferences(ctx, params.token)
    if (isRefusal(opened)) return opened
    const fields = Object.entries(body)
      .filter(([name]) => name.startsWith(LIST_FIELD))
      .map(([name, value]) => [name.slice(LIST_FIELD.length), value] as const)
    const wantedAudiences = new Set(fields.filter(([, value]) => value === '1').map(([id]) => id))
    const shownAudiences = new Set(fields.map(([id]) => id))
    const saved = await savePreferences(ctx, opened.ref, {
      shown: shownAudiences,
      audiences: opened.isOpen ? wantedAudiences : new Set(),
      isOptedOut: body.all === '1' || !opened.isOpen,
    })
    if (saved === null) return contactGonePage()
    if (!opened.isOpen) return closedSenderPage(saved, 'done')
    return preferencesPage(saved, true, await lookAt(ctx, opened, { headers, ...saved }))
  },
})

export const UNSUBSCRIBE_ROUTES: readonly AnyRoute[] = [
  showUnsubscribe,
  postUnsubscribe,
  showPreferences,
  postPreferences,
]
