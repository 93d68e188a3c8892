/**
 * An OAuth server (oidc-provider) on loopback whose users always give consent. It issues codes with PKCE, refresh
 * tokens that work once, and access tokens with a configurable lifetime. Tests sign in as a browser does, revoke
 * grants, and count refreshes.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export interface OAuthServer {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Of access tokens given from now on. */
  lifetimeSeconds: number
  /** Refused with 503. */
  isUnavailable: boolean
  /** Requests for a new access token that were answered with one. */
  readonly refreshes: number
  /** Whose access token this is; null when it is none, or none any more. */
  ownerOf(accessToken: string): Promise<string | null>
  /** Follows the authorize URL as a person who says yes; answers the address that the browser is sent back to. */
  signIn(authorizeUrl: string): Promise<URL>
  /** Grants that a client revoked. */
  readonly revocations: number
  /** Everything that was granted to this person is over. */
  revoke(email: string): Promise<void>
  stop(): Promise<void>
}

interface OAuthServerOptions {
  readonly redirectUri: string
  /** Who signs in when no login_hint says so. */
  readonly email: string
}

const CLIENT = { clientId: 'mailstead', clientSecret: 'the secret of the client' }

export async function startOAuthServer({ redirectUri, email }: OAuthServerOptions): Promise<OAuthServer> {
  const state = { lifetimeSeconds: 3600, isUnavailable: false, refreshes: 0, revocations: 0 }
  const grants = new Map<string, string[]>()
  const server = createServer((req, res) => handle(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(url, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    scopes: ['openid', 'offline_access', 'email'],
    claims: { openid: ['sub'], email: ['email'] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: id }) }),
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['of no importance'] },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: () => state.lifetimeSeconds,
      RefreshToken: 3600,
      IdToken: 3600,
      Interaction: 600,
      Session: 600,
      Grant: 3600,
      AuthorizationCode: 60,
    },
  })
  provider.on('grant.success', (ctx) => {
    if (ctx.oidc.params?.['grant_type'] === 'refresh_token') state.refreshes++
  })
  provider.on('grant.revoked', () => void state.revocations++)
  const app = provider.callback()

  async function grantConsent(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { params } = await provider.interactionDetails(req, res)
    const accountId = typeof params['login_hint'] === 'string' ? params['login_hint'] : email
    const grant = new provider.Grant({ accountId, clientId: CLIENT.clientId })
    grant.addOIDCScope(String(params['scope']))
    const grantId = await grant.save()
    grants.set(accountId, [...(grants.get(accountId) ?? []), grantId])
    await provider.interactionFinished(
      req,
      res,
      { login: { accountId }, consent: { grantId } },
      { mergeWithLastSubmission: false },
    )
  }

  function handle(req: IncomingMessage, res: ServerResponse): void {
    if (state.isUnavailable && req.url?.startsWith('/token') === true) res.writeHead(503).end('away')
    else if (req.url?.startsWith('/interaction/') === true) void grantConsent(req, res)
    else void app(req, res)
  }

  return Object.assign(state, {
    url,
    ...CLIENT,
    ownerOf: async (token: string) => (await provider.AccessToken.find(token))?.accountId ?? null,
    signIn: (authorizeUrl: string) => followRedirects(authorizeUrl, url),
    revoke: async (whose: string) => {
      for (const id of grants.get(whose) ?? []) {
        await provider.RefreshToken.revokeByGrantId(id)
        await provider.AccessToken.revokeByGrantId(id)
      }
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  })
}

/** Follows redirects with cookies for as long as they stay at the server. */
export async function followRedirects(address: string, home: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let at = new URL(address)
  for (let hops = 0; at.origin === home && hops < 20; hops++) {
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${at.href}: ${response.status} ${await response.text()}`)
    at = new URL(location, at)
  }
  return at
}
