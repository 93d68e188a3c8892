/**
 * Signing in at an identity provider: the URL where the person goes, and what the provider says about who came back.
 * OpenID Connect is checked by openid-client: issuer, audience, nonce, signature and times of the id_token, state and
 * PKCE. Every request goes through the guarded HTTP client (no private address unless allowed, no redirect, a limit in
 * time and size). A provider that is away, slow or wrong is a value, and its text is logged, not shown.
 *
 * PKCE verifier and nonce are derived from the state with a key of this service: neither is stored, nor in the
 * browser. Metadata is remembered for some minutes. Signing keys are read at each login, so rotated ones count at once.
 */
import type { Config } from '#config/load.ts'
import type { IdentityProvider } from '#config/identity-providers.ts'
import type { Encryption } from '#src/crypto/encryption.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import type { Log } from '#src/platform/log.ts'
import { identifyAtGithub, githubMetadata } from './github-identity.ts'
import type * as openIdConnect from './openid-connect.ts'
import { guardedFetch, type GuardedFetch } from './guarded-fetch.ts'
import type { Identity, ProviderMetadata } from './identity.ts'

export type IdentityResult =
  | { readonly kind: 'identified'; readonly identity: Identity }
  /** The provider is away, or what it said is not valid. `reason` is for the log. */
  | { readonly kind: 'failed'; readonly reason: string }

export type AuthorizeResult =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'failed'; readonly reason: string }

export interface IdentityClient {
  /** Where the person signs in. */
  authorizeUrl(provider: IdentityProvider, state: string): Promise<AuthorizeResult>
  /** `query` is that of the request to the redirect URI. */
  identify(provider: IdentityProvider, state: string, query: string): Promise<IdentityResult>
  close(): void
}

interface IdentityClientContext {
  readonly config: Config
  readonly encryption: Pick<Encryption, 'mac'>
  readonly log: Log
}

export const IDENTITY_CALLBACK = '/auth/callback'

/** The exact redirect URI, one for each provider, so that a code of one is never sent to another (RFC 9700 §4.4). */
function redirectUriOf({ publicUrl }: Pick<Config, 'publicUrl'>, { name }: IdentityProvider): string {
  return `${publicUrl.replace(/\/+$/, '')}${IDENTITY_CALLBACK}/${name}`
}

const METADATA_MS = 5 * 60_000

type OpenIdConnect = typeof openIdConnect

export function createIdentityClient({ config, encryption, log }: IdentityClientContext): IdentityClient {
  const http = createHttpClient(config)
  const fetch: GuardedFetch = guardedFetch(http)
  const known = new Map<string, { readonly metadata: ProviderMetadata; readonly until: number }>()

  async function metadataOf(connect: OpenIdConnect, provider: IdentityProvider): Promise<ProviderMetadata> {
    if (provider.kind === 'github') return githubMetadata(provider)
    const cached = known.get(provider.name)
    if (cached !== undefined && cached.until > performance.now()) return cached.metadata
    const metadata = await connect.discover(provider, fetch)
    known.set(provider.name, { metadata, until: performance.now() + METADATA_MS })
    return metadata
  }

  /** Loaded at the first login: most processes never need it. */
  async function attempt<T>(
    provider: IdentityProvider,
    work: (connect: OpenIdConnect, metadata: ProviderMetadata) => Promise<T>,
  ): Promise<T | { kind: 'failed'; reason: string }> {
    const connect = await import('./openid-connect.ts')
    try {
      return await work(connect, await metadataOf(connect, provider))
    } catch (error) {
      // metadata may have changed; a bug of ours is logged in the same place
      known.delete(provider.name)
      const reason = connect.describeFailure(error)
      log.warn(
        { provider: provider.name, reason },
        'a login at an identity provider failed: check its row in IDENTITY_PROVIDERS_FILE',
      )
      return { kind: 'failed', reason }
    }
  }

  const secretsOf = (state: string): { verifier: string; nonce: string } => ({
    verifier: encryption.mac('login-state', `verifier ${state}`).toString('base64url'),
    nonce: encryption.mac('login-state', `nonce ${state}`).toString('base64url'),
  })

  return {
    authorizeUrl: (provider, state) =>
      attempt(provider, async (connect, metadata) => {
        const request = { state, ...secretsOf(state), redirectUri: redirectUriOf(config, provider) }
        return { kind: 'url', url: await connect.authorizeUrl(provider, metadata, request) }
      }),
    identify: (provider, state, query) =>
      attempt(provider, async (connect, metadata) => {
        const callbackUrl = new URL(`${redirectUriOf(config, provider)}?${query}`)
        const given = { state, ...secretsOf(state), callbackUrl, fetch }
        const identity =
          provider.kind === 'github'
            ? await identifyAtGithub(provider, http, await connect.exchangeCode(provider, metadata, given))
            : await connect.identify(provider, metadata, given)
        return { kind: 'identified', identity }
      }),
    close: () => http.close(),
  }
}
