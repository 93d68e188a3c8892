/** The login at GitHub, played by a server that answers as its documentation says: OAuth 2.0 with PKCE, and its API. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { assert } from 'chai'
import { storeInvitation } from '#src/people/invitations.ts'
import { startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { cookieOf } from '#test/support/people.ts'

interface Account {
  readonly user: object
  readonly emails: readonly object[]
}

describe('login at GitHub', () => {
  let api: TestApi
  let server: Server
  let dir: string
  let account: Account
  /** The code_challenge of the authorization request; the code is always `code`. */
  let challenge: string | null = null
  before(async () => {
    server = createServer((req, res) => {
      const send = (body: object, status = 200): void =>
        void res.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
      if (req.url === '/login/oauth/access_token') {
        let text = ''
        req.on('data', (chunk: Buffer) => (text += chunk.toString()))
        req.on('end', () => {
          const form = new URLSearchParams(text)
          const given = createHash('sha256')
            .update(form.get('code_verifier') ?? '')
            .digest('base64url')
          const isRight = form.get('code') === 'code' && form.get('client_secret') === 'secret' && given === challenge
          // GitHub reports errors with the status 200
          send(isRight ? { access_token: 'gho_1', token_type: 'bearer', scope: 'user:email' } : { error: 'bad_code' })
        })
      } else if (req.headers.authorization !== 'Bearer gho_1') send({ message: 'Bad credentials' }, 401)
      else if (req.url === '/user') send(account.user)
      else send(account.emails)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    dir = mkdtempSync('/tmp/mailstead-identity-')
    const file = join(dir, 'providers.json')
    const row = { issuer: url, apiUrl: url, clientId: 'id', clientSecret: 'secret' }
    writeFileSync(file, JSON.stringify({ github: row }))
    api = await startApi({ IDENTITY_PROVIDERS_FILE: file, ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' })
  })
  after(async () => {
    await api.stop()
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
    rmSync(dir, { recursive: true })
  })

  async function signIn(who: Account, { invitation, code = 'code' }: { invitation?: string; code?: string } = {}) {
    account = who
    const body = invitation === undefined ? {} : { invitation }
    const begun = await api.call('POST', '/auth/providers/github/login', { key: null, body })
    const url = new URL(textOf(begun.body['data']?.['authorize_url']))
    assert.deepEqual([url.pathname, url.searchParams.get('nonce')], ['/login/oauth/authorize', null])
    challenge = url.searchParams.get('code_challenge')
    const query = new URLSearchParams({ code, state: url.searchParams.get('state') ?? '' })
    const headers = { accept: 'application/json', cookie: cookieOf(begun) }
    return api.call('GET', `//auth/callback/github?${query.toString()}`, { key: null, headers })
  }
  async function invite(email: string): Promise<string> {
    const place = { workspaceId: api.workspaceId, role: 'viewer', isOperator: false, invitedBy: null } as const
    return (await api.db.transaction((tx) => storeInvitation(tx, { ...place, email }))).token
  }
  const user = { id: 42, login: 'anna', name: null }
  const primary = { email: 'Anna@people.example', primary: true, verified: true }
  const other = { email: 'invited@people.example', primary: false, verified: true }
  const statusOf = ({ status, body }: TestResponse): string => `${status} ${JSON.stringify(body)}`

  it('needs the primary address, verified', async () => {
    const invitation = await invite('anna@people.example')
    const unverified = await signIn({ user, emails: [{ ...primary, verified: false }, other] }, { invitation })
    assert.match(statusOf(unverified), /^403 .*has not verified/)
    const second = await invite('invited@people.example')
    const another = await signIn({ user, emails: [primary, other] }, { invitation: second })
    assert.match(statusOf(another), /^409 .*This invitation is for/)
  })
  it('signs in by the number of the account, whatever its name and address', async () => {
    const joined = await signIn({ user, emails: [primary] }, { invitation: await invite('anna@people.example') })
    assert.equal(joined.status, 200, statusOf(joined))
    const renamed = { user: { ...user, login: 'eve' }, emails: [] }
    const again = await signIn(renamed)
    assert.equal(textOf(again.body['data']?.['user_id']), textOf(joined.body['data']?.['user_id']))
    const impostor = await signIn({ user: { id: 43, login: 'anna' }, emails: [primary] })
    assert.match(statusOf(impostor), /^409 .*has an account that is not connected/)
  })
  it('is refused with a wrong code, or an answer that makes no sense', async () => {
    assert.equal((await signIn({ user, emails: [] }, { code: 'x' })).status, 503)
    assert.equal((await signIn({ user: { id: 'x' }, emails: [] })).status, 503)
  })
})
