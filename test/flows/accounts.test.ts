/**
 * Mail through connected accounts: SMTP servers that require TLS and authentication, an OAuth server whose tokens
 * expire and whose grants are revoked, and two outbound processes. Mail that cannot be sent waits, and `explain` names
 * the reason. No secret appears in logs, responses, events or attempts.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { suspend } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { request, textOf, type Json, type TestResponse } from '#test/support/api.ts'
import { startMailboxServer, type MailboxServer } from '#test/support/mailbox-server.ts'
import { startOAuthServer, type OAuthServer } from '#test/support/oauth-server.ts'
import { startTestbed, type Testbed, type MessageDetails } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'

const PUBLIC_URL = 'https://mailstead.sender.example'
const PASSWORD = 'correct horse battery'
const ADDRESS = 'office@provider.example'

describe('connected accounts', function () {
  this.timeout(90_000)
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
  const only = ({ recipients: [one] }: MessageDetails): MessageDetails['recipients'][number] =>
    one ?? assert.fail('no recipient')

  async function signIn(query = 'provider=corp'): Promise<string> {
    const started = await admin('GET', `/public/accounts/oauth/start?${query}`)
    assert.strictEqual(started.status, 200, JSON.stringify(started.body))
    const back = await oauth.signIn(textOf(started.body['data']?.['authorize_url']))
    assert.strictEqual(back.origin, PUBLIC_URL)
    const { status, body } = await request('GET', `${testbed.system.url}${back.pathname}${back.search}`, {
      key: null,
      headers: { accept: 'application/json' },
    })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return textOf(body['data']?.['id'])
  }

  describe('SMTP credentials', () => {
    it('submit mail over verified TLS, and its status stays `sent`', async () => {
      const key = await keyOf(await connect())
      const before = starttls.messages.length
      const told = await testbed.settle(await sent(key, { from: `Office <${ADDRESS}>`, html: '<p>Hello</p>' }), 'sent')
      const [message] = starttls.messages.slice(before)
      assert.deepEqual([message?.from, message?.to, message?.user], [ADDRESS, ['ann@far.example'], ADDRESS])
      assert.match(message?.data ?? '', /^From: Office <office@provider.example>\r?$/m)
      assert.notMatch(message?.data ?? '', /^DKIM-Signature:/im)
      const [attempt] = only(told).attempts
      assert.deepEqual([attempt?.outcome, attempt?.host], ['handed-over', 'smtp.provider.example'])
      assert.match(attempt?.tls ?? '', /TLSv1.3 .*verified/)
      assert.match(attempt?.conversation ?? '', /C: AUTH PLAIN \*{8}\nS: 235/)
      assert.deepEqual(
        told.events.map(({ type }) => type),
        ['email.queued', 'email.sent'],
      )
    })
    it('a key of the account sends from its addresses only', async () => {
      const key = await keyOf(await connect({ from: [ADDRESS, 'Sales@provider.example'] }))
      for (const [from, status] of [
        ['sales@provider.example', 200],
        ['boss@provider.example', 403],
        [`shop@${testbed.system.domain}`, 403],
        [undefined, 400],
      ] as const)
        assert.strictEqual((await send(key, { from })).status, status, String(from))
      await until(() => starttls.messages.at(-1)?.from === 'sales@provider.example')
      const verified = await testbed.system.call('GET', '/integrations/verify', { key })
      assert.deepEqual(verified.body['data']?.['addresses'], [ADDRESS, 'sales@provider.example'])
    })
    it('several messages share an authenticated session', async () => {
      const key = await keyOf(await connect({ connections: 1 }))
      const before = starttls.logins.length
      const ids = await Promise.all(Array.from({ length: 6 }, () => sent(key)))
      for (const id of ids) await testbed.settle(id, 'sent')
      assert.strictEqual(starttls.logins.length - before, 1)
    })
    it('the rate limit of the account holds, and further mail waits without an attempt', async () => {
      // a tenth at once, and one more every two seconds
      const key = await keyOf(await connect({ messages_per_minute: 30 }))
      const ids = await Promise.all([1, 2, 3, 4].map(() => sent(key)))
      const look = async (): Promise<MessageDetails[]> => Promise.all(ids.map((id) => testbed.getMessage(id)))
      await until(async () => (await look()).filter(({ status }) => status === 'sent').length >= 3)
      const waiting = (await look()).filter(({ status }) => status !== 'sent').map(only)
      assert.deepEqual(
        waiting.map(({ tries, attempts }) => [tries, attempts.length]),
        [[0, 0]],
      )
      for (const id of ids) await testbed.settle(id, 'sent')
    })
    it('a refused password pauses the account: mail waits, `explain` says why, a new password resumes it', async () => {
      const id = await connect()
      const key = await keyOf(id)
      starttls.passwords.set(ADDRESS, 'another one')
      const mail = await sent(key)
      await until(
        async () => ((await admin('GET', `/public/accounts/${id}`)).body['data']?.['status'] as unknown) === 'paused',
      )
      const account = (await admin('GET', `/public/accounts/${id}`)).body['data'] as Json
      assert.match(textOf(account['paused_reason']), /535.*Username and password not accepted/)
      const second = await sent(key)
      const logins = starttls.logins.length
      await until(async () =>
        /paused/.test(JSON.stringify((await testbed.system.call('GET', `/public/emails/explain?id=${second}`)).body)),
      )
      const [first] = (await testbed.getMessage(mail)).recipients
      assert.deepEqual([first?.state, first?.tries], ['deferred', 0])
      assert.match(first?.reason ?? '', /account is paused.*535/)
      assert.strictEqual(only(await testbed.getMessage(second)).state, 'queued')
      const { rows } = await testbed.system.db.query<{ data: Json }>(
        `SELECT data FROM events WHERE type = 'account.paused'`,
      )
      assert.deepEqual(
        rows.map(({ data }) => data['account_id'] as unknown),
        [id],
      )
      assert.strictEqual(starttls.logins.length, logins)
      const changed = await admin('PATCH', `/public/accounts/${id}`, { password: 'another one' })
      assert.deepEqual([changed.status, changed.body['data']?.['status'] as unknown], [200, 'active'])
      await testbed.settle(mail, 'sent')
      await testbed.settle(second, 'sent')
    })
    it('replies of the provider are classified as always; its daily limit does not bounce the message', async () => {
      const key = await keyOf(await connect())
      starttls.refusal = { at: 'data', code: 554, text: '5.6.0 I do not like this' }
      assert.strictEqual(only(await testbed.settle(await sent(key))).state, 'bounced')
      starttls.refusal = { at: 'data', code: 550, text: '5.4.5 Daily sending quota exceeded' }
      const told = await testbed.settle(await sent(key), 'deferred')
      assert.strictEqual(only(told).tries, 0)
      starttls.refusal = null
    })
    it('a certificate for another name gets no password', async () => {
      const key = await keyOf(await connect({ host: 'smtp.other.example' }))
      const before = starttls.logins.length
      const told = await testbed.settle(await sent(key), 'deferred')
      assert.match(only(told).reason ?? '', /tls: TLS failed/i)
      assert.strictEqual(starttls.logins.length, before)
    })
    it('mail of an account that was removed fails with the reason', async () => {
      const id = await connect()
      const key = await keyOf(id)
      await suspend(testbed.system, `account:${id}`, 'until it is removed')
      const mail = await sent(key)
      assert.strictEqual((await admin('DELETE', `/public/accounts/${id}`)).status, 204)
      await until(async () => (await send(key, { from: ADDRESS })).status === 401)
      const told = await testbed.settle(mail)
      assert.deepEqual([only(told).state, only(told).reason], ['failed', 'the connected account was removed'])
    })
  })

  describe('the connection test', () => {
    const test = async (more: object = {}): Promise<Json> => {
      const { status, body } = await admin('POST', `/public/accounts/${await connect(more)}/test`)
      assert.strictEqual(status, 200, JSON.stringify(body))
      return body['data'] as Json
    }
    const CASES: readonly (readonly [string, () => object, string])[] = [
      ['a name without address', () => ({ host: 'nowhere.provider.example' }), 'dns'],
      ['nobody listens', () => ({ port: 1 }), 'connect'],
      ['TLS where STARTTLS is spoken', () => ({ security: 'tls' }), 'tls'],
      ['a certificate for another name', () => ({ host: 'smtp.other.example' }), 'tls'],
      ['a wrong password', () => ({ password: 'wrong horse' }), 'auth'],
    ]
    for (const [name, more, step] of CASES) {
      it(`${name}: fails at ${step}`, async () => {
        const result = await test(more())
        const last = (result['steps'] as unknown as Json[]).at(-1)
        assert.deepEqual(
          [result['ok'] as unknown, last?.['step'] as unknown, last?.['ok'] as unknown],
          [false, step, false],
          JSON.stringify(result),
        )
      })
    }
    it('succeeds without sending mail', async () => {
      const before = starttls.messages.length
      const result = await test()
      assert.deepEqual(
        [result['ok'] as unknown, (result['steps'] as unknown as Json[]).length],
        [true, 6],
        JSON.stringify(result),
      )
      assert.match(textOf(result['conversation']), /C: MAIL FROM:<office@provider.example>\nS: 250[^]*C: RSET/)
      assert.strictEqual(starttls.messages.length, before)
    })
    it('reports an address that the provider refuses as sender', async () => {
      starttls.refusal = { at: 'mail', code: 553, text: '5.7.1 Sender address rejected: not owned by user' }
      const result = await test()
      assert.deepEqual((result['steps'] as unknown as Json[]).at(-1), {
        step: 'mail',
        ok: false,
        detail: '553 5.7.1 Sender address rejected: not owned by user',
      })
    })
  })

  describe('a mailbox over OAuth', () => {
    it('is connected by a sign-in, sends with an access token, and needs no `from`', async () => {
      const key = await keyOf(await signIn())
      const told = await testbed.settle(await sent(key, {}), 'sent')
      const message = tls.messages.at(-1)
      assert.deepEqual([message?.from, message?.user], ['me@mailbox.example', 'me@mailbox.example'])
      assert.match(only(told).attempts[0]?.conversation ?? '', /C: AUTH XOAUTH2 \*{8}\nS: 235/)
      assert.strictEqual((await send(key, { from: 'you@mailbox.example' })).status, 403)
    })
    it('two processes that need a new token request only one', async () => {
      const id = await signIn('provider=corp&email=two@mailbox.example')
      const key = await keyOf(id)
      await testbed.system.roles.mta2.start()
      const before = oauth.refreshes
      const ids = await Promise.all(Array.from({ length: 40 }, () => sent(key, {})))
      for (const one of ids) await testbed.settle(one, 'sent')
      assert.strictEqual(oauth.refreshes - before, 1)
      await testbed.system.roles.mta2.stop()
    })
    it('an expiring access token is refreshed before mail needs it, with a new refresh token', async () => {
      oauth.lifetimeSeconds = 61
      const key = await keyOf(await signIn('provider=corp&email=short@mailbox.example'))
      await testbed.settle(await sent(key, {}), 'sent')
      const before = oauth.refreshes
      await until(() => oauth.refreshes >= before + 2)
      await testbed.settle(await sent(key, {}), 'sent')
    })
    it('an access token that is refused before it expires is refreshed immediately', async () => {
      const id = await signIn('provider=corp&email=withdrawn@mailbox.example')
      const key = await keyOf(id)
      await testbed.system.db.query(
        'UPDATE connected_accounts SET access_token = $2, access_expires_at = $3 WHERE id = $1',
        [
          id,
          testbed.system.encryption.encrypt('account-secret', 'a token of no worth'),
          new Date(Date.now() + 3_600_000),
        ],
      )
      await testbed.settle(await sent(key, {}), 'sent')
    })
    it('mail waits while the provider does not answer, and is sent afterwards', async () => {
      const key = await keyOf(await signIn('provider=corp&email=waits@mailbox.example'))
      oauth.isUnavailable = true
      const id = await sent(key, {})
      await until(async () => /returned no token: status 503/.test(only(await testbed.getMessage(id)).reason ?? ''))
      assert.deepEqual(
        [only(await testbed.getMessage(id)).tries, only(await testbed.getMessage(id)).attempts.length],
        [0, 0],
      )
      oauth.isUnavailable = false
      await testbed.settle(id, 'sent')
    })
    it('a revoked grant pauses the account until it is connected again', async () => {
      const id = await signIn('provider=corp&email=revoked@mailbox.example')
      const key = await keyOf(id)
      await oauth.revoke('revoked@mailbox.example')
      const mail = await sent(key, {})
      await until(
        async () => ((await admin('GET', `/public/accounts/${id}`)).body['data']?.['status'] as unknown) === 'paused',
      )
      assert.match(
        textOf((await admin('GET', `/public/accounts/${id}`)).body['data']?.['paused_reason']),
        /invalid_grant/,
      )
      assert.strictEqual(await signIn(`account_id=${id}`), id)
      await testbed.settle(mail, 'sent')
    })
  })

  describe('secrets', () => {
    it('no secret is in a log, a response, an event or an attempt', async () => {
      const { rows } = await testbed.system.db.query<{ text: string }>(sql`
        SELECT conversation AS text
        FROM attempts
        UNION ALL
        SELECT coalesce(reason, '')
        FROM recipients
        UNION ALL
        SELECT coalesce(data::text, '')
        FROM events
        UNION ALL
        SELECT row_to_json(a)::text
        FROM connected_accounts a
      `)
      const logs = Object.values(testbed.system.roles).map(({ logFile }) => {
        try {
          return readFileSync(logFile, 'utf8')
        } catch {
          return ''
        }
      })
      const answers = JSON.stringify((await admin('GET', '/public/accounts')).body)
      const all = [...rows.map(({ text }) => text), ...logs, answers].join('\n')
      for (const secret of [
        PASSWORD,
        'another one',
        oauth.clientSecret,
        Buffer.from(`\0${ADDRESS}\0${PASSWORD}`).toString('base64'),
        'Bearer ',
      ])
        assert.ok(!all.includes(secret), secret)
    })
  })
})
