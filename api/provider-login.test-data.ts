/** An api with identity providers of oidc-provider, and people who sign in there as a browser does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { storeInvitation } from '#src/people/invitations.ts'
import { newId } from '#src/platform/id.ts'
import { startIdentityServer, type IdentityServer, type Person } from '#test/support/identity-server.ts'
import { startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { cookieOf } from '#test/support/people.ts'

export const DOMAIN = 'corp.example'
const PUBLIC_URL = 'http://mail.corp.example'
const NAMES = ['own', 'corp', 'trusting', 'other']

export interface Begun {
  readonly url: string
  /** The cookie of the browser. */
  readonly cookie: string
}

export interface ProviderScene {
  readonly api: TestApi
  readonly server: IdentityServer
  /** Each login comes from a network of its own, because networks are limited. */
  newNetwork(): Record<string, string>
  begin(provider: string, body?: object): Promise<Begun>
  comeBack(url: URL, cookie: string, headers?: Record<string, string>): Promise<TestResponse>
  signInAt(provider: string, person: Person, body?: object): Promise<TestResponse>
  /** The token of an invitation. */
  invite(email: string): Promise<string>
  /** A user with an attached identity of `own`. */
  addKnown(): Promise<Person>
  stop(): Promise<void>
}

export const newAddress = (domain = 'people.example'): string => `${newId()}@${domain}`
export const someone = (email = newAddress()): Person => ({ sub: newId(), email, email_verified: true, name: 'Anna' })
export const seen = ({ status, body }: TestResponse): [number, string] => [status, textOf(body['message'])]

function providersOf({ url: issuer, clientId, clientSecret }: IdentityServer): object {
  const row = { issuer, clientId, clientSecret }
  return {
    own: { ...row, label: 'Own' },
    corp: { ...row, domains: [DOMAIN], createAccounts: { domains: [DOMAIN], role: 'viewer' } },
    trusting: { ...row, trustsEmail: true },
    other: { ...row, issuer: `${issuer}/other` },
  }
}

export async function startProviderScene(env: Record<string, string> = {}): Promise<ProviderScene> {
  const dir = mkdtempSync('/tmp/mailstead-identity-')
  const redirectUris = NAMES.map((name) => `${PUBLIC_URL}/auth/callback/${name}`)
  const server = await startIdentityServer(redirectUris, { sub: 'nobody' })
  const file = join(dir, 'providers.json')
  writeFileSync(file, JSON.stringify(providersOf(server)))
  const settings = { PUBLIC_URL, IDENTITY_PROVIDERS_FILE: file, ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' }
  const api = await startApi({ ...settings, TRUST_PROXY: '1', ...env })

  let networks = 0
  const newNetwork = (): Record<string, string> => ({ 'x-forwarded-for': `203.0.113.${++networks}` })
  async function begin(provider: string, body: object = {}): Promise<Begun> {
    const path = `/auth/providers/${provider}/login`
    const answer = await api.call('POST', path, { key: null, body, headers: newNetwork() })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return { url: textOf(answer.body['data']?.['authorize_url']), cookie: cookieOf(answer) }
  }
  function comeBack(url: URL, cookie: string, headers: Record<string, string> = {}): Promise<TestResponse> {
    const given = { accept: 'application/json', ...(cookie === '' ? {} : { cookie }), ...headers }
    return api.call('GET', `/${url.pathname}${url.search}`, { key: null, headers: given })
  }
  async function signInAt(provider: string, person: Person, body: object = {}): Promise<TestResponse> {
    server.person = person
    const { url, cookie } = await begin(provider, body)
    return comeBack(await server.signIn(url), cookie)
  }
  async function invite(email: string): Promise<string> {
    const place = { workspaceId: api.workspaceId, role: 'developer', isOperator: false, invitedBy: null } as const
    return (await api.db.transaction((tx) => storeInvitation(tx, { ...place, email }))).token
  }
  async function addKnown(): Promise<Person> {
    const person = someone()
    const token = await invite(person.email ?? '')
    assert.equal((await signInAt('own', person, { invitation: token })).status, 200)
    return person
  }
  const stop = async (): Promise<void> => {
    await api.stop()
    await server.stop()
    rmSync(dir, { recursive: true })
  }
  return { api, server, newNetwork, begin, comeBack, signInAt, invite, addKnown, stop }
}
