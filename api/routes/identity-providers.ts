/**
 * Signing in at an identity provider: which there are, the start of a login, and what the browser comes back with. A
 * browser gets pages and a program JSON. Text of a provider is neither shown nor followed. Who may sign in is
 * decided in `src/people/provider-login.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { IdentityProvider } from '#config/identity-providers.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { maySendAccountMail } from '#src/people/account-mail.ts'
import { IDENTITY_CALLBACK } from '#src/people/identity-client.ts'
import { isRecentLogin } from '#src/people/login-methods.ts'
import { beginProviderLogin, finishProviderLogin, type ProviderLoginResult } from '#src/people/provider-login.ts'
import { newSecretToken } from '#src/people/secret-token.ts'
import type { SignedInUser } from '#src/people/user-sessions.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { countText } from '#src/platform/plural.ts'
import { browserCookie, readBrowserCookie } from '#api/http/browser-cookie.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type AnyRoute, type ApiResponse } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { forwardPage } from '#api/pages/connect-mailbox.ts'
import { refusedLoginPage, secondFactorPage, signedInPage } from '#api/pages/login-page.ts'
import { continueLogin, FOREIGN_LOGIN, respondToLogin, userActor } from './login-completion.ts'
import { NOT_RECENT } from './login-methods.ts'
import { returnTo, startedSession } from './person-fields.ts'

const NO_PROVIDER = refuse('NOT_FOUND', 'There is no such identity provider. List them with list-identity-providers.')
const AWAY = refuse('SERVICE_UNAVAILABLE', 'The identity provider does not answer as it should. Try again later.', 30)
/** Logins that one network may begin. */
const STARTED_LOGINS = { max: 60, windowMs: 600_000 }

const byName = z.object({ name: z.string().max(64, 'is too long').meta({ description: 'of the provider' }) })
const startedAnswer = envelope(z.object({ authorize_url: z.url() })).meta({ id: 'ProviderLoginStart' })

const list = route({
  name: 'list-identity-providers',
  summary: 'List the identity providers that people can sign in with',
  method: 'GET',
  paths: ['/auth/providers'],
  access: 'public',
  status: 200,
  response: envelope(
    z.object({
      providers: z.array(z.object({ name: z.string(), label: z.string() })),
      mails_password_links: z
        .boolean()
        .meta({ description: 'forgot-password may send mail; if not, the operator makes a link' }),
    }),
  ),
  errors: [],
  handle: async (ctx) => {
    const providers = [...ctx.identityProviders.values()].map(({ name, label }) => ({ name, label }))
    const data = { providers, mails_password_links: await maySendAccountMail(ctx) }
    return { body: { success: true, message: `${countText(providers.length, 'identity provider')}.`, data } }
  },
})

const start = route({
  name: 'start-provider-login',
  summary: 'Begin to sign in at an identity provider: get the URL where the browser goes',
  description:
    'Sets a cookie that binds the login to this browser for ten minutes. With the token of an invitation, the person ' +
    'accepts it with the verified address of the provider, and needs no password.',
  method: 'POST',
  paths: ['/auth/providers/:name/login'],
  access: 'public',
  params: byName,
  body: z.object({
    invitation: z.string().max(128, 'is too long').optional().meta({ description: 'the token of its link' }),
    return_to: returnTo,
  }),
  accepts: ['json', 'form'],
  status: 200,
  response: startedAnswer,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'FORBIDDEN', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_ctx, refusal) => Promise.resolve(refusedLoginPage(refusal)),
  handle: async (ctx, { params, body, headers, address, wantsPage }) => {
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const wait = await ctx.attempts.consume(`provider login ${networkOf(address)}`, STARTED_LOGINS)
    if (wait !== null) return rateLimited('client_rate', `Too many logins were begun. Wait ${wait} s.`, wait)
    const given = { name: params.name, invitation: body.invitation ?? null, returnTo: body.return_to ?? '/' }
    return begin(ctx, { ...given, headers, wantsPage, person: null })
  },
})

const link = route({
  name: 'start-provider-link',
  summary: 'Begin to attach your identity at a provider to your user, to sign in with it',
  description: 'Needs a login within the last 15 minutes.',
  method: 'POST',
  paths: ['/auth/providers/:name/link'],
  access: 'person',
  params: byName,
  body: z.object({ return_to: returnTo }),
  status: 200,
  response: startedAnswer,
  errors: ['NOT_FOUND', 'FORBIDDEN', 'SERVICE_UNAVAILABLE'],
  handle: (ctx, { params, body, headers, person }) =>
    isRecentLogin(person, ctx.clock.now())
      ? begin(ctx, {
          name: params.name,
          invitation: null,
          returnTo: body.return_to ?? '/',
          headers,
          wantsPage: false,
          person,
        })
      : Promise.resolve(NOT_RECENT),
})

interface Beginning {
  readonly name: string
  readonly invitation: string | null
  readonly returnTo: string
  readonly headers: IncomingHttpHeaders
  readonly wantsPage: boolean
  readonly person: SignedInUser | null
}

async function begin(ctx: ApiContext, beginning: Beginning): Promise<ApiResponse | Refusal> {
  const provider = ctx.identityProviders.get(beginning.name)
  if (provider === undefined) return NO_PROVIDER
  const browser = readBrowserCookie(ctx.config, beginning.headers) ?? newSecretToken()
  const begun = await beginProviderLogin(ctx, { ...beginning, provider, browser })
  if (begun.kind === 'failed') return AWAY
  const cookie = browserCookie(ctx.config, browser)
  const { url } = begun
  if (!beginning.wantsPage)
    return { headers: cookie, body: { success: true, message: 'Continue there.', data: { authorize_url: url } } }
  // not a redirect: browsers apply `form-action` to the whole chain of redirects after a form
  const forward = forwardPage(provider.label, url)
  return { ...forward, headers: { ...forward.headers, ...cookie, Refresh: `0; url=${url}` } }
}

const MAX_TEXT = 8192
const providerText = z.string().max(MAX_TEXT, 'is too long').optional()
const issuerText = providerText.meta({ description: 'the issuer (RFC 9207)' })

const finish = route({
  name: 'finish-provider-login',
  summary: 'Receive the browser from an identity provider: sign in, or attach the identity',
  method: 'GET',
  paths: [`${IDENTITY_CALLBACK}/:name`],
  atRoot: true,
  access: 'public',
  params: byName,
  query: z.object({ state: providerText, code: providerText, iss: issuerText, error: providerText }),
  status: 200,
  response: envelope(startedSession).meta({ id: 'ProviderLoginAnswer' }),
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_ctx, refusal) => Promise.resolve(refusedLoginPage(refusal)),
  handle: async (ctx, request) => {
    const { params, query, headers, wantsPage } = request
    const provider = ctx.identityProviders.get(params.name)
    if (provider === undefined) return NO_PROVIDER
    const { state = '', error } = query
    const callback = { provider, state, browser: readBrowserCookie(ctx.config, headers), query: queryOf(query) }
    const result = await finishProviderLogin(ctx, { ...callback, isError: error !== undefined }, (userId) =>
      ctx.db.attributedTo(userActor('finish-provider-login', userId, request)),
    )
    if (result.kind !== 'right') return refuseProviderLogin(provider, result)
    const { userId, returnTo: next } = result
    const checked = { action: 'finish-provider-login', userId, methods: ['oidc'] } as const
    const progress = await continueLogin(ctx, request, checked)
    const answer = respondToLogin(ctx, progress)
    if (!wantsPage) return answer
    if (progress.kind === 'second-factor') return secondFactorPage({ token: progress.token, next })
    // the cookie is not sent with a redirect that another site began
    const shown = signedInPage(next)
    return { ...shown, headers: { ...shown.headers, ...answer.headers, Refresh: `0; url=${next}` } }
  },
})

/** The parameters that OpenID Connect defines, as they arrived. */
function queryOf(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return new URLSearchParams(given).toString()
}

function refuseProviderLogin(
  { label }: IdentityProvider,
  result: Exclude<ProviderLoginResult, { kind: 'right' }>,
): Refusal {
  if (result.kind === 'has-account')
    return refuse(
      'CONFLICT',
      `${result.email} has an account that is not connected with ${label}. Sign in to it, then connect ${label} there.`,
    )
  if (result.kind === 'other-address')
    return refuse('CONFLICT', `This invitation is for ${result.email}. Sign in at ${label} with that address.`)
  return REFUSALS[result.kind]
}

const REFUSALS: Readonly<
  Record<Exclude<ProviderLoginResult['kind'], 'right' | 'has-account' | 'other-address'>, Refusal>
> = {
  'bad-state': refuse(
    'CONFLICT',
    'This login was not started in this browser, has expired or was already used. Start again.',
  ),
  declined: refuse('FORBIDDEN', 'The identity provider did not sign you in. Start again, and agree there.'),
  'provider-failed': AWAY,
  unverified: refuse('FORBIDDEN', 'The identity provider has not verified your email address. Verify it there first.'),
  'other-domain': refuse('FORBIDDEN', 'Your email address is not of a domain that may sign in here. Use another one.'),
  unknown: refuse('FORBIDDEN', 'You have no account here. Ask a member of your workspace for an invitation.'),
  'invalid-invitation': refuse('CONFLICT', 'This invitation was used, was revoked, or is too old. Ask for another.'),
  taken: refuse('CONFLICT', 'This identity belongs to another account. Sign in with it, and remove it there first.'),
  disabled: refuse('FORBIDDEN', 'This account is disabled. Ask the operator of this service.'),
}

export const IDENTITY_PROVIDER_ROUTES: readonly AnyRoute[] = [list, start, link, finish]
