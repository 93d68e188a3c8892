/**
 * A mailbox is connected over OAuth: where its owner signs in, and where the provider sends them back to. A page for them, or JSON for a
 * program; what the provider said is shown as text and never followed.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { createOutgoing } from '#src/net/http-client.ts'
import type { Account } from '#src/providers/accounts.ts'
import { beginSignIn, CALLBACK_PATH, finishSignIn } from '#src/providers/sign-in.ts'
import { html, page } from '#api/pages/page.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'
import { ACCESS, NO_ACCOUNT, ownAccount } from './accounts.ts'
import { accountShape, presentAccount } from './account-view.ts'

const address = z.string().transform((text, sink) => {
  const read = parseAddress(text.trim())
  if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
  return read.ok ? read.address.address.toLowerCase() : z.NEVER
})

const start = route({
  name: 'start-oauth',
  summary: 'Begin to connect a mailbox over OAuth: where its owner signs in, within 10 minutes',
  method: 'GET',
  paths: ['/public/accounts/oauth/start'],
  access: ACCESS,
  status: 200,
  query: z.object({
    provider: z
      .string()
      .optional()
      .meta({ description: 'google, microsoft, or one that the operator configured; not needed with account_id' }),
    email: address.optional().meta({ description: 'whose sign-in is expected' }),
    name: z.string().trim().max(255, 'at most 255 characters').optional(),
    account_id: z.string().optional().meta({ description: 'an account to connect again' }),
  }),
  answer: enveloped(z.object({ authorize_url: z.url(), expires_at: moment })),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, query: { provider: named, email, name, account_id: accountId } }) => {
    const account = accountId === undefined ? null : await ownAccount(ctx, workspaceId, accountId)
    if (accountId !== undefined && account?.kind !== 'oauth') return NO_ACCOUNT
    const { oauthProviders: providers } = ctx
    const provider = providers.get(account?.provider ?? named ?? '')
    const known = [...providers.keys()].join(', ') || 'none: the operator configured no OAuth provider'
    if (provider === undefined) return invalid([{ path: 'provider', message: `is one of ${known}` }])
    const whose = { email: account?.username ?? email ?? null, name: name ?? null, accountId: account?.id ?? null }
    const begun = await beginSignIn(ctx, { workspaceId, provider, ...whose })
    const data = { authorize_url: begun.url, expires_at: begun.expiresAt.toISOString() }
    return { body: { success: true, message: "Open authorize_url in the browser of the mailbox's owner.", data } }
  },
})

const MAX_SAID = 300
const said = z.string().max(8192, 'is too long').optional()

const callback = route({
  name: 'oauth-callback',
  summary: 'Where the owner of a mailbox comes back to after the sign-in at the provider',
  method: 'GET',
  paths: [CALLBACK_PATH],
  atRoot: true,
  access: 'public',
  status: 200,
  query: z.object({ state: said, code: said, error: said, error_description: said }),
  answer: enveloped(accountShape),
  produces: ['text/html'],
  errors: ['VALIDATION_ERROR', 'CONFLICT'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { query: { state = '', code, error, error_description: description }, wantsPage }) => {
    const outgoing = createOutgoing(ctx.config)
    const why = [error, description]
      .filter((part) => part !== undefined)
      .join(': ')
      .slice(0, MAX_SAID)
    const parts = { providers: ctx.oauthProviders, outgoing }
    const signedIn = await finishSignIn(ctx, parts, { state, code: code ?? null, error: why }).finally(() =>
      outgoing.close(),
    )
    if (signedIn.kind === 'bad-state') return BAD_STATE
    if (signedIn.kind === 'failed') return refuse('CONFLICT', signedIn.reason)
    if (wantsPage) return connectedPage(signedIn.account)
    return { body: { success: true, message: 'The mailbox is connected.', data: presentAccount(signedIn.account) } }
  },
})

export const OAUTH_ROUTES: readonly AnyRoute[] = [start, callback]

const BAD_STATE = refuse('CONFLICT', 'This sign-in was not begun here, is over, or was used already. Begin again.')

function connectedPage({ username }: Account): Answer {
  return page(
    'Mailbox connected',
    html`<h1>Mailbox connected</h1><p>${username} is connected. You may close this page.</p>`,
  )
}

function refusedPage({ message }: Refusal): Answer {
  return page('Not connected', html`<h1>The mailbox is not connected</h1><p>${message}</p>`)
}
