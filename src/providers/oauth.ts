/**
 * The OAuth client: the authorization URL where a person signs in (RFC 6749 4.1 with PKCE, RFC 7636), and the token
 * endpoint. Every response is a value. Only `invalid_grant` and equivalent errors mean that the grant is revoked; any
 * other error, or no response, is temporary.
 */
import { createHash } from 'node:crypto'
import type { OAuthProvider } from '#config/oauth-providers.ts'
import type { HttpClient } from '#src/net/http-client.ts'

export interface GrantedToken {
  readonly kind: 'granted'
  readonly accessToken: string
  /** Null: the previous refresh token stays valid. */
  readonly refreshToken: string | null
  readonly expiresInSeconds: number
  /** The address of the person who signed in, if the server returns it (OpenID Connect). */
  readonly email: string | null
}

export type TokenResponse =
  | GrantedToken
  | { readonly kind: 'revoked'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

const TIMEOUT_MS = 15_000
/** Access, refresh and id tokens of some servers have 2 KB each. */
const MAX_RESPONSE_BYTES = 64 * 1024
/** RFC 6749 5.1 only recommends that the server returns the lifetime. */
const DEFAULT_LIFETIME_SECONDS = 600
const MAX_LIFETIME_SECONDS = 30 * 24 * 3600
const MAX_TOKEN = 16 * 1024
const MAX_ERROR_TEXT = 200

interface AuthorizationRequest {
  readonly redirectUri: string
  readonly state: string
  readonly verifier: string
  /** The expected mailbox. */
  readonly email: string | null
}

export function authorizeUrlOf(
  provider: OAuthProvider,
  { redirectUri, state, verifier, email }: AuthorizationRequest,
): string {
  const url = new URL(provider.authorizeUrl)
  const parameters = {
    ...provider.parameters,
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: redirectUri,
    scope: provider.scopes.join(' '),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(email === null ? {} : { login_hint: email }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

interface AuthorizationCode {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
}

export function exchangeCode(
  http: HttpClient,
  provider: OAuthProvider,
  { code, verifier, redirectUri }: AuthorizationCode,
): Promise<TokenResponse> {
  return requestToken(http, provider, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
  })
}

export function refreshToken(http: HttpClient, provider: OAuthProvider, token: string): Promise<TokenResponse> {
  return requestToken(http, provider, { grant_type: 'refresh_token', refresh_token: token })
}

async function requestToken(
  http: HttpClient,
  provider: OAuthProvider,
  fields: Readonly<Record<string, string>>,
): Promise<TokenResponse> {
  const response = await postForm(http, provider, provider.tokenUrl, fields)
  if (!response.ok)
    return { kind: 'failed', reason: `the token request to ${provider.name} failed: ${response.detail}` }
  return parseTokenResponse(response.status, response.body, provider.name)
}

function postForm(
  http: HttpClient,
  { clientId, clientSecret }: OAuthProvider,
  url: string,
  fields: Readonly<Record<string, string>>,
): ReturnType<HttpClient['post']> {
  const body = new URLSearchParams({
    ...fields,
    client_id: clientId,
    ...(clientSecret === null ? {} : { client_secret: clientSecret }),
  })
  return http.post(url, {
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: body.toString(),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_RESPONSE_BYTES,
  })
}

/** Revokes a token and its grant (RFC 7009). Returns null when it is not valid any more, otherwise the reason. */
export async function revokeToken(
  http: HttpClient,
  provider: OAuthProvider & { readonly revokeUrl: string },
  token: string,
): Promise<string | null> {
  const response = await postForm(http, provider, provider.revokeUrl, { token })
  if (!response.ok) return `the request to ${provider.name} failed: ${response.detail}`
  const error = textOf(parseObject(response.body)?.['error']) ?? ''
  if (response.status === 200 || ENDED_ERRORS.has(error)) return null
  return `${provider.name} did not revoke the token: ${error === '' ? `status ${response.status}` : error}`
}

/** Google refuses to revoke a token that has ended. */
const ENDED_ERRORS: ReadonlySet<string> = new Set(['invalid_token', 'invalid_grant'])

/** RFC 6749 5.2, and the errors of Microsoft when the person must sign in again. */
const REVOKED_ERRORS: ReadonlySet<string> = new Set([
  'invalid_grant',
  'interaction_required',
  'consent_required',
  'login_required',
])

/** RFC 6749 5.1 and 5.2. The error text of the server is truncated; an error response never contains a token. */
export function parseTokenResponse(status: number, text: string, name: string): TokenResponse {
  const body = parseObject(text)
  const errorText = (field: string): string => textOf(body?.[field])?.slice(0, MAX_ERROR_TEXT) ?? ''
  if (body !== null && status === 200) {
    const accessToken = tokenOf(body['access_token'])
    if (accessToken !== null)
      return {
        kind: 'granted',
        accessToken,
        refreshToken: tokenOf(body['refresh_token']),
        expiresInSeconds: lifetimeOf(body['expires_in']),
        email: emailIn(textOf(body['id_token'])),
      }
  }
  const error = errorText('error')
  const detail = [error, errorText('error_description')].filter((part) => part !== '').join(': ')
  if (REVOKED_ERRORS.has(error)) return { kind: 'revoked', reason: `${name} has revoked the grant (${detail})` }
  return { kind: 'failed', reason: `${name} returned no token: ${detail === '' ? `status ${status}` : detail}` }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Printable ASCII, because the token becomes part of an SMTP command. */
function tokenOf(value: unknown): string | null {
  return typeof value === 'string' && value.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(value) ? value : null
}

function lifetimeOf(value: unknown): number {
  const seconds = Number(value)
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, MAX_LIFETIME_SECONDS) : DEFAULT_LIFETIME_SECONDS
}

/** The signature need not be checked: the token endpoint sent it over TLS (OpenID Connect Core 3.1.3.7, 6). */
function emailIn(idToken: string | null): string | null {
  const payload = parseObject(Buffer.from(idToken?.split('.')[1] ?? '', 'base64url').toString('utf8'))
  return textOf(payload?.['email'])?.toLowerCase() ?? null
}
