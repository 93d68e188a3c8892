/** A complete system, two mailbox providers (SMTP with passwords, OAuth) and connected accounts for them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { request, textOf, type TestResponse } from '#test/support/api.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { startMailboxServer, type MailboxServer } from '#test/support/mailbox-server.ts'
import { startOAuthServer, type OAuthServer } from '#test/support/oauth-server.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'

const PUBLIC_URL = 'https://mailstead.sender.example'
export const PASSWORD = 'correct horse battery'
export const ADDRESS = 'office@provider.example'

export interface AccountsScene {
  readonly testbed: Testbed
  /** Checks passwords, over STARTTLS. */
  readonly starttls: MailboxServer
  /** Checks tokens of `oauth`, over implicit TLS. */
  readonly tls: MailboxServer
  readonly oauth: OAuthServer
  /** Calls with an Admin key. */
  readonly admin: (method: string, path: string, body?: object) => Promise<TestResponse>
  /** Connects an account with a password; its id. */
  readonly connect: (more?: object) => Promise<string>
  /** Creates a key of the account. */
  readonly keyOf: (accountId: string) => Promise<string>
  readonly send: (key: string, mail: object) => Promise<TestResponse>
  /** Sends mail that must be accepted; its id. */
  readonly sent: (key: string, mail?: object) => Promise<string>
  /** Connects an account over OAuth; its id. */
  readonly signIn: (query?: string) => Promise<string>
}

/** Adds hooks to the suite that start all servers, and check the stores after each test. */
export function setUpAccounts(): AccountsScene {
  let dir: string
  let starttls: MailboxServer
  let tls: MailboxServer
  let oauth: OAuthServer
  let testbed: Testbed
  before(async () => {
    oauth = await startOAuthServer({ redirectUri: `${PUBLIC_URL}/oauth/callback`, email: 'me@mailbox.example' })
    starttls = await startMailboxServer({ name: 'smtp.provider.example', methods: ['PLAIN', 'LOGIN'] })
    tls = await startMailboxServer({
      name: 'smtp.mailbox.example',
      isImplicitTls: true,
      ownerOf: (token) => oauth.ownerOf(token),
    })
    dir = mkdtempSync('/tmp/mailstead-accounts-')
    writeFileSync(join(dir, 'ca.pem'), `${starttls.ca}\n${tls.ca}`)
    writeFileSync(
      join(dir, 'providers.json'),
      JSON.stringify({
        corp: {
          clientId: oauth.clientId,
          clientSecret: oauth.clientSecret,
          authorizeUrl: `${oauth.url}/auth`,
          tokenUrl: `${oauth.url}/token`,
          scopes: ['openid', 'email', 'offline_access'],
          parameters: { prompt: 'consent' },
          smtpHost: 'smtp.mailbox.example',
          smtpPort: tls.port,
          security: 'tls',
        },
      }),
    )
    testbed = await startTestbed({
      PUBLIC_URL,
      EXTRA_CA_FILE: join(dir, 'ca.pem'),
      OAUTH_PROVIDERS_FILE: join(dir, 'providers.json'),
    })
    testbed.dns.zone['smtp.provider.example'] = { A: ['127.0.0.1'] }
    testbed.dns.zone['smtp.mailbox.example'] = { A: ['127.0.0.1'] }
    testbed.dns.zone['smtp.other.example'] = { A: ['127.0.0.1'] }
  })
  after(async () => {
    await testbed.stop()
    await Promise.all([starttls.stop(), tls.stop(), oauth.stop()])
    rmSync(dir, { recursive: true })
  })
  beforeEach(() => {
    starttls.passwords.set(ADDRESS, PASSWORD)
    starttls.refusal = null
    Object.assign(oauth, { isUnavailable: false, lifetimeSeconds: 3600 })
  })
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(testbed.system.readLogs())
    else await checkConsistency(testbed.system)
  })

  const admin = (method: string, path: string, body?: object): Promise<TestResponse> =>
    testbed.system.call(method, path, { key: testbed.system.admin, ...(body === undefined ? {} : { body }) })

  async function connect(more: object = {}): Promise<string> {
    const order = {
      name: 'Office',
      host: 'smtp.provider.example',
      port: starttls.port,
      security: 'starttls',
      username: ADDRESS,
      password: PASSWORD,
      ...more,
    }
    const { status, body } = await admin('POST', '/public/accounts', order)
    assert.strictEqual(status, 201, JSON.stringify(body))
    return textOf(body['data']?.['id'])
  }
  async function keyOf(accountId: string): Promise<string> {
    const { status, body } = await admin('POST', '/public/domains/api-keys/create', {
      name: 'k',
      account_id: accountId,
    })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return textOf(body['data']?.['secret_key'])
  }
  const send = (key: string, mail: object): Promise<TestResponse> =>
    testbed.system.call('POST', '/send-email/instant', {
      key,
      body: { to: 'ann@far.example', subject: 'Hello', text: 'Hello', ...mail },
    })
  async function sent(key: string, mail: object = { from: ADDRESS }): Promise<string> {
    const { status, body } = await send(key, mail)
    assert.strictEqual(status, 200, JSON.stringify(body))
    return textOf(body['email_id'])
  }

  async function signIn(query = 'provider=corp'): Promise<string> {
    const started = await admin('GET', `/public/accounts/oauth/start?${query}`)
    assert.strictEqual(started.status, 200, JSON.stringify(started.body))
    const { url } = testbed.system
    const page = new URL(textOf(started.body['data']?.['authorize_url']))
    const bound = await request('POST', url + page.pathname, { key: null, body: {} })
    const [cookie = ''] = (bound.headers.get('set-cookie') ?? '').split(';')
    const back = await oauth.signIn(textOf(bound.body['data']?.['authorize_url']))
    assert.strictEqual(back.origin, PUBLIC_URL)
    const headers = { accept: 'application/json', cookie }
    const granted = await request('GET', `${url}${back.pathname}${back.search}`, { key: null, headers })
    const { state, grant } = granted.body['data'] ?? {}
    const { status, body } = await request('POST', url + back.pathname, { key: null, headers, body: { state, grant } })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return textOf(body['data']?.['id'])
  }

  return {
    get testbed() {
      return testbed
    },
    get starttls() {
      return starttls
    },
    get tls() {
      return tls
    },
    get oauth() {
      return oauth
    },
    admin,
    connect,
    keyOf,
    send,
    sent,
    signIn,
  }
}
