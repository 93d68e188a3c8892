/**
 * The OpenID Connect client, with openid-client. Loaded at the first login at a provider. All functions reject when the
 * provider is away or what it said is not valid; `identity-client.ts` turns that into values.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  type ClientAuth,
  type ServerMetadata,
  type UserInfoResponse,
} from 'openid-client'
import type { IdentityProvider } from '#config/identity-providers.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import type { Identity } from './identity.ts'

const TIMEOUT_SECONDS = 10
const MAX_REASON = 500
const MAX_NAME = 100
/** OpenID Connect Core §2 limits `sub` to 255 characters. */
const MAX_SUBJECT = 255

/** Reads the metadata of the issuer, which must name itself (OpenID Connect Discovery §4.3). */
export async function discover(provider: IdentityProvider, fetch: GuardedFetch): Promise<ServerMetadata> {
  const { issuer, clientId } = provider
  const found = await discovery(new URL(issuer), clientId, undefined, undefined, {
    [customFetch]: fetch,
    timeout: TIMEOUT_SECONDS,
    execute: isLocal(issuer) ? [allowInsecureRequests] : [],
  })
  return found.serverMetadata()
}

/** config/identity-providers.ts accepts clear text for this machine only. */
function isLocal(issuer: string): boolean {
  return issuer.startsWith('http:')
}

/** New for each login, so that no signing key is remembered. */
function configure(provider: IdentityProvider, metadata: ServerMetadata, fetch?: GuardedFetch): Configuration {
  const client = new Configuration(metadata, provider.clientId, undefined, authenticationOf(provider, metadata))
  client.timeout = TIMEOUT_SECONDS
  if (fetch !== undefined) client[customFetch] = fetch
  if (isLocal(provider.issuer)) allowInsecureRequests(client)
  return client
}

function authenticationOf({ clientSecret }: IdentityProvider, metadata: ServerMetadata): ClientAuth {
  if (clientSecret === null) return None()
  // without the field, a provider accepts client_secret_basic (OpenID Connect Discovery §3)
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_post') ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret)
}

export interface AuthorizationRequest {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
}

export async function authorizeUrl(
  provider: IdentityProvider,
  metadata: ServerMetadata,
  { state, nonce, verifier, redirectUri }: AuthorizationRequest,
): Promise<string> {
  const url = buildAuthorizationUrl(configure(provider, metadata), {
    redirect_uri: redirectUri,
    scope: provider.scopes.join(' '),
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(provider.kind === 'oidc' ? { nonce } : {}),
  })
  return url.href
}

export interface AuthorizationResponse {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** The redirect URI with the query that arrived. */
  readonly callbackUrl: URL
  readonly fetch: GuardedFetch
}

/** For OAuth 2.0 without id_token: the access token. */
export async function exchangeCode(
  provider: IdentityProvider,
  metadata: ServerMetadata,
  { state, verifier, callbackUrl, fetch }: AuthorizationResponse,
): Promise<string> {
  const checks = { expectedState: state, pkceCodeVerifier: verifier }
  const tokens = await authorizationCodeGrant(configure(provider, metadata, fetch), callbackUrl, checks)
  return tokens.access_token
}

/** Exchanges the code, and checks the id_token with its signature. */
export async function identify(
  provider: IdentityProvider,
  metadata: ServerMetadata,
  { state, nonce, verifier, callbackUrl, fetch }: AuthorizationResponse,
): Promise<Identity> {
  const client = configure(provider, metadata, fetch)
  enableNonRepudiationChecks(client)
  const tokens = await authorizationCodeGrant(client, callbackUrl, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined || claims.sub.length > MAX_SUBJECT) throw new Error('the id_token has no usable subject')
  const hasEmail = claims['email'] !== undefined || metadata.userinfo_endpoint === undefined
  const person: Partial<UserInfoResponse> = hasEmail
    ? claims
    : { ...claims, ...(await fetchUserInfo(client, tokens.access_token, claims.sub)) }
  return {
    issuer: metadata.issuer,
    subject: claims.sub,
    email: verifiedEmail(provider, person),
    name: typeof person['name'] === 'string' ? person['name'].slice(0, MAX_NAME) : null,
  }
}

/** Some providers send the text "true". */
function verifiedEmail({ trustsEmail }: IdentityProvider, person: Partial<UserInfoResponse>): string | null {
  const { email } = person
  const verified: unknown = person.email_verified
  const isVerified = verified === true || verified === 'true' || (trustsEmail && verified === undefined)
  return isVerified && typeof email === 'string' ? email.toLowerCase() : null
}

/** The error and its causes, for the log. Contains no token: errors of openid-client name fields and claims. */
export function describeFailure(error: unknown): string {
  const texts: string[] = []
  for (let at = error; at instanceof Error && texts.length < 4; at = at.cause) {
    const detail = 'error_description' in at && typeof at.error_description === 'string' ? at.error_description : ''
    texts.push(detail === '' ? at.message : `${at.message} (${detail})`)
  }
  return [...new Set(texts)].join(': ').slice(0, MAX_REASON) || 'unknown failure'
}
