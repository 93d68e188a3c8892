/**
 * Connecting a mailbox over OAuth: the start of the sign-in, and the callback that the provider redirects its owner
 * to. The callback answers a browser with a page and a program with JSON. Text of the provider is shown as text and
 * never followed.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import type { Account } from '#src/providers/accounts.ts'
import { beginSignIn, CALLBACK_PATH, finishSignIn } from '#src/providers/sign-in.ts'
import { html, page } from '#api/pages/page.ts'
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

const callback = route({
  name: 'oauth-callback',
  summary: 'Receive the owner of a mailbox after the sign-in at the provider',
  method: 'GET',
  paths: [CALLBACK_PATH],
  atRoot: true,
  access: 'public',
  status: 200,
  query: z.object({ state: providerText, code: providerText, error: providerText, error_description: providerText }),
  response: envelope(accountSchema),
  produces: ['text/html'],
  errors: ['VALIDATION_ERROR', 'CONFLICT'],
  refusalPage: (_, refusal) => Promise.resolve(notConnectedPage(refusal)),
  handle: async (ctx, { query: { state = '', code, error, error_description: description }, wantsPage }) => {
    const http = createHttpClient(ctx.config)
    const providerError = [error, description]
      .filter((part) => part !== undefined)
      .join(': ')
      .slice(0, MAX_ERROR_LENGTH)
    const deps = { providers: ctx.oauthProviders, http }
    const signedIn = await finishSignIn(ctx, deps, { state, code: code ?? null, error: providerError }).finally(() =>
      http.close(),
    )
    if (signedIn.kind === 'bad-state') return INVALID_STATE
    if (signedIn.kind === 'failed') return refuse('CONFLICT', signedIn.reason)
    if (wantsPage) return connectedPage(signedIn.account)
    return { body: { success: true, message: 'The mailbox is connected.', data: presentAccount(signedIn.account) } }
  },
})

export const OAUTH_ROUTES: readonly AnyRoute[] = [start, callback]

const INVALID_STATE = refuse(
  'CONFLICT',
  'This sign-in was not started here, has expired or was already used. Start again.',
)

function connectedPage({ username }: Account): ApiResponse {
  return page(
    'Mailbox connected',
    html`<h1>Mailbox connected</h1><p>${username} is connected. You may close this page.</p>`,
  )
}

function notConnectedPage({ message }: Refusal): ApiResponse {
  return page('Not connected', html`<h1>The mailbox is not connected</h1><p>${message}</p>`)
}
