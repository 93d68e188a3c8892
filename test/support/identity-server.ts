/**
 * An identity provider (oidc-provider) on loopback whose people always agree. Tests sign in as a browser does. What it
 * says about a person, its keys and its behaviour can be changed while it runs: `intercept` answers requests in its
 * place, for providers that lie or do not answer.
 */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { followRedirects } from './oauth-server.ts'

export interface Person {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean | string
  readonly name?: string
}

export interface IdentityServer {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Who signs in from now on. */
  person: Person
  /** Answers a request and returns true, or returns false for the provider's own answer. */
  intercept: ((req: IncomingMessage, res: ServerResponse) => boolean) | null
  /** The address that the browser is sent back to. */
  signIn(authorizeUrl: string): Promise<URL>
  /** Signs with another key from now on, and publishes only that. */
  rotateKeys(): void
  stop(): Promise<void>
}

const CLIENT = { clientId: 'mailstead', clientSecret: 'the secret of the client' }

interface ProviderOptions {
  readonly redirectUris: readonly string[]
  readonly personOf: () => Person
}

function newKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid: crypto.randomUUID() }
}

function createProvider(url: string, { redirectUris, personOf }: ProviderOptions): Provider {
  return new Provider(url, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [...redirectUris],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [newKey()] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ ...personOf() }) }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['of no importance'] },
    ttl: { AccessToken: 600, IdToken: 600, Interaction: 600, Session: 600, Grant: 600, AuthorizationCode: 60 },
  })
}

export async function startIdentityServer(redirectUris: readonly string[], first: Person): Promise<IdentityServer> {
  const state: Pick<IdentityServer, 'person' | 'intercept'> = { person: first, intercept: null }
  const server = createServer((req, res) => void handle(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const make = (): Provider => createProvider(url, { redirectUris, personOf: () => state.person })
  let provider = make()
  let app = provider.callback()

  async function agree(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { params } = await provider.interactionDetails(req, res)
    const accountId = state.person.sub
    const grant = new provider.Grant({ accountId, clientId: CLIENT.clientId })
    grant.addOIDCScope(String(params['scope']))
    const result = { login: { accountId }, consent: { grantId: await grant.save() } }
    await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false })
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (state.intercept?.(req, res) === true) return
    if (req.url?.startsWith('/interaction/') === true) await agree(req, res)
    else await app(req, res)
  }

  return Object.assign(state, {
    url,
    ...CLIENT,
    signIn: (authorizeUrl: string) => followRedirects(authorizeUrl, url),
    rotateKeys: () => {
      provider = make()
      app = provider.callback()
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  })
}
