/**
 * Who signed in at GitHub, which has OAuth 2.0 and no id_token: its API says the number of the account, which never
 * changes, and its addresses. Only the primary address counts, and only if GitHub has verified it.
 */
import { z } from 'zod'
import type { IdentityProvider } from '#config/identity-providers.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import type { Identity, ProviderMetadata } from './identity.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 64 * 1024

const userSchema = z.object({ id: z.int().positive(), login: z.string(), name: z.string().nullish() })
const emailsSchema = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/** Its addresses are documented, and there is no discovery. */
export function githubMetadata({ issuer }: IdentityProvider): ProviderMetadata {
  return {
    issuer,
    authorization_endpoint: `${issuer}/login/oauth/authorize`,
    token_endpoint: `${issuer}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  }
}

/** @throws when GitHub is away or answers something else. */
export async function identifyAtGithub(
  { issuer, apiUrl }: IdentityProvider,
  http: HttpClient,
  accessToken: string,
): Promise<Identity> {
  const read = async <T>(path: string, schema: z.ZodType<T>): Promise<T> => {
    const response = await http.get(`${apiUrl}${path}`, {
      headers: {
        authorization: `Bearer ${accessToken}`,
        accept: 'application/vnd.github+json',
        'user-agent': 'mailstead',
      },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    })
    if (!response.ok) throw new Error(`the request to the API of GitHub failed: ${response.detail}`)
    if (response.status !== 200 || !response.isComplete) throw new Error(`the API of GitHub: status ${response.status}`)
    return schema.parse(JSON.parse(response.body))
  }
  const [user, emails] = await Promise.all([read('/user', userSchema), read('/user/emails', emailsSchema)])
  const primary = emails.find((one) => one.primary && one.verified)
  return {
    issuer,
    subject: String(user.id),
    email: primary?.email.toLowerCase() ?? null,
    name: user.name ?? user.login,
  }
}
