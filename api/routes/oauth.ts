/**
 * Connecting a mailbox over OAuth: the start of the sign-in by the workspace, and the pages on which the owner of the
 * mailbox agrees, before and after the sign-in at the provider (decisions 042 and 049). A browser gets pages and a
 * program JSON. Text of the provider is shown as text and never followed. The confirmation is an entry of the audit
 * log, as a change by the mailbox.
 */
import { z } from 'zod'
import type { OAuthProvider } from '#config/oauth-providers.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { findState, type PendingSignIn } from '#src/providers/sign-in-state.ts'
import {
  beginSignIn,
  bindBrowser,
  CALLBACK_PATH,
  CONNECT_PATH,
  consumeGrant,
  declineSignIn,
  newBrowserSecret,
  receiveCode,
  storeGrant,
} from '#src/providers/sign-in.ts'
import type { Actor } from '#src/stores/audit.ts'
import { browserCookie, isCrossSite, readBrowserCookie } from '#api/http/browser-cookie.ts'
import {
  confirmPage,
  connectedPage,
  describePermissions,
  notConnectedPage,
  startPage,
  forwardPage,
  type ConnectRequest,
} from '#api/pages/connect-mailbox.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { ACCESS, NO_ACCOUNT, findOwnAccount } from './accounts.ts'
import { accountSchema, presentAccount } from './account-view.ts'

const addressField = z.string().transform((text, sink) => {
  const parsed = parseAddress(text.trim())
  if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
  return parsed.ok ? parsed.address.address.toLowerCase() : z.NEVER
})

const start = route({
  name: 'start-oauth',
  summary: 'Start connecting a mailbox over OAuth: get the URL where its owner signs in within 10 minutes',
  method: 'GET',
  paths: ['/public/accounts/oauth/start'],
  access: ACCESS,
  status: 200,
  query: z.object({
    provider: z
      .string()
      .optional()
      .meta({ description: 'google, microsoft, or another that the operator configured; not needed with account_id' }),
    email: addressField.optional().meta({ description: 'the address that is expected to sign in' }),
    name: z.string().trim().max(255, 'at most 255 characters').optional(),
    account_id: z.string().optional().meta({ description: 'the account to connect again' }),
  }),
  response: envelope(z.object({ authorize_url: z.url(), expires_at: timestamp })),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (
    ctx,
    { caller: { workspaceId }, query: { provider: providerName, email, name, account_id: accountId } },
  ) => {
    const account = accountId === undefined ? null : await findOwnAccount(ctx, workspaceId, accountId)
    if (accountId !== undefined && account?.kind !== 'oauth') return NO_ACCOUNT
    const { oauthProviders: providers } = ctx
    const provider = providers.get(account?.provider ?? providerName ?? '')
    const knownProviders = [...providers.keys()].join(', ') || 'none: the operator configured no OAuth provider'
    if (provider === undefined) return invalid([{ path: 'provider', message: `must be one of ${knownProviders}` }])
    const expected = { email: account?.username ?? email ?? null, name: name ?? null, accountId: account?.id ?? null }
    const signIn = await beginSignIn(ctx, { workspaceId, provider, ...expected })
    const data = { authorize_url: signIn.url, expires_at: signIn.expiresAt.toISOString() }
    return { body: { success: true, message: "Open authorize_url in the browser of the mailbox's owner.", data } }
  },
})

const MAX_ERROR_LENGTH = 300
const providerText = z.string().max(8192, 'is too long').optional()
const NO_SIGN_IN = refuse('NOT_FOUND', 'This sign-in does not exist, has expired or was already used. Start again.')
const INVALID_STATE = refuse(
  'CONFLICT',
  'This sign-in was not started in this browser, has expired or was already used. Start again.',
)
const refusalPage = (_: unknown, refusal: Refusal): Promise<ApiResponse> => Promise.resolve(notConnectedPage(refusal))
const byState = z.object({ state: z.string().max(128, 'is too long') })
const connectRequest = z.object({
  workspace: z.object({ id: z.uuid(), name: z.string() }),
  provider: z.string(),
  email: z.string().nullable(),
})

const showConnect = route({
  name: 'oauth-connect-page',
  summary: 'Show who asks to send from a mailbox, before its owner signs in; changes nothing',
  method: 'GET',
  paths: [`${CONNECT_PATH}/:state`],
  atRoot: true,
  access: 'public',
  params: byState,
  status: 200,
  response: envelope(connectRequest),
  produces: ['text/html'],
  errors: ['NOT_FOUND'],
  refusalPage,
  handle: async (ctx, { params: { state }, wantsPage }) => {
    const pending = await findState(ctx, state)
    if (pending === null) return NO_SIGN_IN
    if (wantsPage) return startPage(requestOf(pending))
    return { body: { success: true, message: 'Post here to continue.', data: present(pending, pending.email) } }
  },
})

const postConnect = route({
  name: 'oauth-connect',
  summary: 'Bind a sign-in to this browser, and continue at the provider',
  method: 'POST',
  paths: [`${CONNECT_PATH}/:state`],
  atRoot: true,
  access: 'public',
  params: byState,
  body: z.object({}),
  accepts: ['form', 'json'],
  status: 200,
  response: envelope(z.object({ authorize_url: z.url() })),
  produces: ['text/html'],
  errors: ['NOT_FOUND'],
  refusalPage,
  handle: async (ctx, { params: { state }, headers, wantsPage }) => {
    if (isCrossSite(headers)) return NO_SIGN_IN
    const browser = readBrowserCookie(ctx.config, headers) ?? newBrowserSecret()
    const bound = await bindBrowser(ctx, ctx.oauthProviders, { state, browser })
    if (bound.kind !== 'bound') return NO_SIGN_IN
    const cookie = browserCookie(ctx.config, browser)
    const { authorizeUrl } = bound
    const data = { authorize_url: authorizeUrl }
    if (!wantsPage) return { headers: cookie, body: { success: true, message: 'Continue there.', data } }
    // not a redirect: browsers apply `form-action` to the whole chain of redirects after a form
    const forward = forwardPage(bound.pending.provider, authorizeUrl)
    return { ...forward, headers: { ...forward.headers, ...cookie, Refresh: `0; url=${authorizeUrl}` } }
  },
})

const callback = route({
  name: 'oauth-callback',
  summary:
    'Receive the owner of a mailbox after the sign-in at the provider, and ask for confirmation; connects nothing',
  method: 'GET',
  paths: [CALLBACK_PATH],
  atRoot: true,
  access: 'public',
  status: 200,
  query: z.object({ state: providerText, code: providerText, error: providerText, error_description: providerText }),
  response: envelope(
    connectRequest.extend({
      permissions: z.array(z.string()),
      state: z.string(),
      grant: z.string().meta({ description: 'what the provider granted, encrypted; it is not stored yet' }),
    }),
  ),
  produces: ['text/html'],
  errors: ['VALIDATION_ERROR', 'CONFLICT'],
  refusalPage,
  handle: async (ctx, { query: { state = '', code, error, error_description: description }, headers, wantsPage }) => {
    const http = createHttpClient(ctx.config)
    const providerError = [error, description]
      .filter((part) => part !== undefined)
      .join(': ')
      .slice(0, MAX_ERROR_LENGTH)
    const deps = { providers: ctx.oauthProviders, http }
    const browser = readBrowserCookie(ctx.config, headers)
    const received = await receiveCode(ctx, deps, { state, code: code ?? null, error: providerError, browser }).finally(
      () => http.close(),
    )
    if (received.kind === 'bad-state') return INVALID_STATE
    if (received.kind === 'failed') return refuse('CONFLICT', received.reason)
    const { pending, email, scopes, grant } = received
    const permissions = describePermissions(scopes, email)
    if (wantsPage) return confirmPage({ ...requestOf(pending), email, permissions, state, grant })
    const data = { ...present(pending, email), permissions, state, grant }
    return { body: { success: true, message: 'Post state and grant here to connect the mailbox.', data } }
  },
})

const confirm = route({
  name: 'oauth-confirm',
  summary: 'Connect the mailbox, in the browser that signed in: the button of the confirmation page',
  method: 'POST',
  paths: [CALLBACK_PATH],
  atRoot: true,
  access: 'public',
  body: z.object({
    state: z.string().max(128, 'is too long'),
    grant: z.string().max(60_000, 'is too long'),
    decline: z.string().optional().meta({ description: 'set: the owner does not agree' }),
  }),
  accepts: ['form', 'json'],
  status: 200,
  response: envelope(accountSchema),
  produces: ['text/html'],
  errors: ['VALIDATION_ERROR', 'CONFLICT'],
  refusalPage,
  handle: async (ctx, { id: requestId, body: { state, grant, decline }, headers, address, wantsPage }) => {
    const browser = readBrowserCookie(ctx.config, headers)
    if (decline !== undefined) {
      const declined = await declineSignIn(ctx, { state, browser })
      return declined === null ? INVALID_STATE : refuseDeclined(ctx.oauthProviders.get(declined.provider))
    }
    const granted = await consumeGrant(ctx, { state, grant, browser })
    if (granted === null) return INVALID_STATE
    const { workspaceId } = granted.pending
    const owner: Actor = {
      kind: 'mailbox',
      name: granted.email,
      action: 'oauth-confirm',
      workspaceId,
      address,
      requestId,
    }
    const attributed = { ...ctx, db: ctx.db.attributedTo(owner) }
    const stored = await storeGrant(attributed, ctx.oauthProviders, granted)
    if (stored.kind !== 'connected') return refuse('CONFLICT', stored.reason)
    if (wantsPage) return connectedPage(stored.account.username)
    return { body: { success: true, message: 'The mailbox is connected.', data: presentAccount(stored.account) } }
  },
})

function refuseDeclined(provider: OAuthProvider | undefined): Refusal {
  const revocation =
    provider === undefined || provider.revokeUrl === null
      ? 'To end the access too, remove it in the settings of your account at the provider.'
      : `The access at ${provider.name} is revoked, unless this mailbox is connected already.`
  return refuse('CONFLICT', `You did not agree. Nothing was connected. ${revocation}`)
}

export const OAUTH_ROUTES: readonly AnyRoute[] = [start, showConnect, postConnect, callback, confirm]

function requestOf({ workspaceName, workspaceId, provider, email, accountId }: PendingSignIn): ConnectRequest {
  return { workspace: workspaceName, workspaceId, provider, email, isAgain: accountId !== null }
}

function present({ workspaceName, workspaceId, provider }: PendingSignIn, email: string | null): object {
  return { workspace: { id: workspaceId, name: workspaceName }, provider, email }
}
