/**
 * Mail through connected accounts: SMTP servers that require TLS and authentication, an OAuth server whose tokens
 * expire and whose grants are revoked, and two outbound processes. Mail that cannot be sent waits, and `explain` names
 * the reason. No secret appears in logs, responses, events or attempts.
 */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { suspend } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import { textOf, type Json } from '#test/support/api.ts'
import type { MessageDetails } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'
import { ADDRESS, PASSWORD, setUpAccounts } from './accounts.test-data.ts'

describe('connected accounts', () => {
  const scene = setUpAccounts()
  const { admin, connect, keyOf, send, sent, signIn } = scene
  const only = ({ recipients: [one] }: MessageDetails): MessageDetails['recipients'][number] =>
    one ?? assert.fail('no recipient')

  describe('SMTP credentials', () => {
    it('submit mail over verified TLS, and its status stays `sent`', async () => {
      const key = await keyOf(await connect())
      const before = scene.starttls.messages.length
      const details = await scene.testbed.settle(
        await sent(key, { from: `Office <${ADDRESS}>`, html: '<p>Hello</p>' }),
        'sent',
      )
      const [message] = scene.starttls.messages.slice(before)
      assert.deepEqual([message?.from, message?.to, message?.user], [ADDRESS, ['ann@far.example'], ADDRESS])
      assert.match(message?.data ?? '', /^From: Office <office@provider.example>\r?$/m)
      assert.notMatch(message?.data ?? '', /^DKIM-Signature:/im)
      const [attempt] = only(details).attempts
      assert.deepEqual([attempt?.outcome, attempt?.host], ['handed-over', 'smtp.provider.example'])
      assert.match(attempt?.tls ?? '', /TLSv1.3 .*verified/)
      assert.match(attempt?.conversation ?? '', /C: AUTH PLAIN \*{8}\nS: 235/)
      assert.deepEqual(
        details.events.map(({ type }) => type),
        ['email.queued', 'email.sent'],
      )
    })
    it('a key of the account sends from its addresses only', async () => {
      const key = await keyOf(await connect({ from: [ADDRESS, 'Sales@provider.example'] }))
      for (const [from, status] of [
        ['sales@provider.example', 200],
        ['boss@provider.example', 403],
        [`shop@${scene.testbed.system.domain}`, 403],
        [undefined, 400],
      ] as const)
        assert.strictEqual((await send(key, { from })).status, status, String(from))
      await until(() => scene.starttls.messages.at(-1)?.from === 'sales@provider.example')
      const verified = await scene.testbed.system.call('GET', '/integrations/verify', { key })
      assert.deepEqual(verified.body['data']?.['addresses'], [ADDRESS, 'sales@provider.example'])
    })
    it('several messages share an authenticated session', async () => {
      const key = await keyOf(await connect({ connections: 1 }))
      const before = scene.starttls.logins.length
      const ids = await Promise.all(Array.from({ length: 6 }, () => sent(key)))
      for (const id of ids) await scene.testbed.settle(id, 'sent')
      assert.strictEqual(scene.starttls.logins.length - before, 1)
    })
    it('the rate limit of the account holds, and further mail waits without an attempt', async () => {
      // a tenth at once, and one more every two seconds
      const key = await keyOf(await connect({ messages_per_minute: 30 }))
      const ids = await Promise.all([1, 2, 3, 4].map(() => sent(key)))
      const readAll = async (): Promise<MessageDetails[]> => Promise.all(ids.map((id) => scene.testbed.getMessage(id)))
      await until(async () => (await readAll()).filter(({ status }) => status === 'sent').length >= 3)
      const waiting = (await readAll()).filter(({ status }) => status !== 'sent').map(only)
      assert.deepEqual(
        waiting.map(({ tries, attempts }) => [tries, attempts.length]),
        [[0, 0]],
      )
      for (const id of ids) await scene.testbed.settle(id, 'sent')
    })
    it('a refused password pauses the account: mail waits, `explain` says why, a new password resumes it', async () => {
      const id = await connect()
      const key = await keyOf(id)
      scene.starttls.passwords.set(ADDRESS, 'another one')
      const mail = await sent(key)
      await until(
        async () => ((await admin('GET', `/public/accounts/${id}`)).body['data']?.['status'] as unknown) === 'paused',
      )
      const account = (await admin('GET', `/public/accounts/${id}`)).body['data'] as Json
      assert.match(textOf(account['paused_reason']), /535.*Username and password not accepted/)
      const second = await sent(key)
      const logins = scene.starttls.logins.length
      await until(async () =>
        /paused/.test(
          JSON.stringify((await scene.testbed.system.call('GET', `/public/emails/explain?id=${second}`)).body),
        ),
      )
      const [first] = (await scene.testbed.getMessage(mail)).recipients
      assert.deepEqual([first?.state, first?.tries], ['deferred', 0])
      assert.match(first?.reason ?? '', /account is paused.*535/)
      assert.strictEqual(only(await scene.testbed.getMessage(second)).state, 'queued')
      const { rows } = await scene.testbed.system.db.query<{ data: Json }>(
        `SELECT data FROM events WHERE type = 'account.paused'`,
      )
      assert.deepEqual(
        rows.map(({ data }) => data['account_id'] as unknown),
        [id],
      )
      assert.strictEqual(scene.starttls.logins.length, logins)
      const changed = await admin('PATCH', `/public/accounts/${id}`, { password: 'another one' })
      assert.deepEqual([changed.status, changed.body['data']?.['status'] as unknown], [200, 'active'])
      await scene.testbed.settle(mail, 'sent')
      await scene.testbed.settle(second, 'sent')
    })
    it('replies of the provider are classified as always; its daily limit does not bounce the message', async () => {
      const key = await keyOf(await connect())
      scene.starttls.refusal = { at: 'data', code: 554, text: '5.6.0 I do not like this' }
      assert.strictEqual(only(await scene.testbed.settle(await sent(key))).state, 'bounced')
      scene.starttls.refusal = { at: 'data', code: 550, text: '5.4.5 Daily sending quota exceeded' }
      const details = await scene.testbed.settle(await sent(key), 'deferred')
      assert.strictEqual(only(details).tries, 0)
      scene.starttls.refusal = null
    })
    it('a certificate for another name gets no password', async () => {
      const key = await keyOf(await connect({ host: 'smtp.other.example' }))
      const before = scene.starttls.logins.length
      const details = await scene.testbed.settle(await sent(key), 'deferred')
      assert.match(only(details).reason ?? '', /tls: TLS failed/i)
      assert.strictEqual(scene.starttls.logins.length, before)
    })
    it('mail of an account that was removed fails with the reason', async () => {
      const id = await connect()
      const key = await keyOf(id)
      await suspend(scene.testbed.system, `account:${id}`, 'until it is removed')
      const mail = await sent(key)
      assert.strictEqual((await admin('DELETE', `/public/accounts/${id}`)).status, 204)
      await until(async () => (await send(key, { from: ADDRESS })).status === 401)
      const details = await scene.testbed.settle(mail)
      assert.deepEqual([only(details).state, only(details).reason], ['failed', 'the connected account was removed'])
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
      const before = scene.starttls.messages.length
      const result = await test()
      assert.deepEqual(
        [result['ok'] as unknown, (result['steps'] as unknown as Json[]).length],
        [true, 6],
        JSON.stringify(result),
      )
      assert.match(textOf(result['conversation']), /C: MAIL FROM:<office@provider.example>\nS: 250[^]*C: RSET/)
      assert.strictEqual(scene.starttls.messages.length, before)
    })
    it('reports an address that the provider refuses as sender', async () => {
      scene.starttls.refusal = { at: 'mail', code: 553, text: '5.7.1 Sender address rejected: not owned by user' }
      const result = await test()
      assert.deepEqual((result['steps'] as unknown as Json[]).at(-1), {
        step: 'mail',
        ok: false,
        detail:
          '553 5.7.1 Sender address rejected: not owned by user. ' +
          'Check from (office@provider.example): the server must permit it for this user.',
      })
    })
  })

  describe('a mailbox over OAuth', () => {
    it('is connected by a sign-in, sends with an access token, and needs no `from`', async () => {
      const key = await keyOf(await signIn())
      const details = await scene.testbed.settle(await sent(key, {}), 'sent')
      const message = scene.tls.messages.at(-1)
      assert.deepEqual([message?.from, message?.user], ['me@mailbox.example', 'me@mailbox.example'])
      assert.match(only(details).attempts[0]?.conversation ?? '', /C: AUTH XOAUTH2 \*{8}\nS: 235/)
      assert.strictEqual((await send(key, { from: 'you@mailbox.example' })).status, 403)
    })
    it('two processes that need a new token request only one', async () => {
      const id = await signIn('provider=corp&email=two@mailbox.example')
      const key = await keyOf(id)
      await scene.testbed.system.roles.mta2.start()
      const before = scene.oauth.refreshes
      const ids = await Promise.all(Array.from({ length: 40 }, () => sent(key, {})))
      for (const one of ids) await scene.testbed.settle(one, 'sent')
      assert.strictEqual(scene.oauth.refreshes - before, 1)
      await scene.testbed.system.roles.mta2.stop()
    })
    it('an expiring access token is refreshed before mail needs it, with a new refresh token', async () => {
      scene.oauth.lifetimeSeconds = 61
      const key = await keyOf(await signIn('provider=corp&email=short@mailbox.example'))
      await scene.testbed.settle(await sent(key, {}), 'sent')
      const before = scene.oauth.refreshes
      await until(() => scene.oauth.refreshes >= before + 2)
      await scene.testbed.settle(await sent(key, {}), 'sent')
    })
    it('an access token that is refused before it expires is refreshed immediately', async () => {
      const id = await signIn('provider=corp&email=withdrawn@mailbox.example')
      const key = await keyOf(id)
      await scene.testbed.system.db.query(
        'UPDATE connected_accounts SET access_token = $2, access_expires_at = $3 WHERE id = $1',
        [
          id,
          scene.testbed.system.encryption.encrypt('account-secret', 'a token of no worth'),
          new Date(Date.now() + 3_600_000),
        ],
      )
      await scene.testbed.settle(await sent(key, {}), 'sent')
    })
    it('mail waits while the provider does not answer, and is sent afterwards', async () => {
      const key = await keyOf(await signIn('provider=corp&email=waits@mailbox.example'))
      scene.oauth.isUnavailable = true
      const id = await sent(key, {})
      await until(async () =>
        /returned no token: status 503/.test(only(await scene.testbed.getMessage(id)).reason ?? ''),
      )
      assert.deepEqual(
        [only(await scene.testbed.getMessage(id)).tries, only(await scene.testbed.getMessage(id)).attempts.length],
        [0, 0],
      )
      scene.oauth.isUnavailable = false
      await scene.testbed.settle(id, 'sent')
    })
    it('a revoked grant pauses the account until it is connected again', async () => {
      const id = await signIn('provider=corp&email=revoked@mailbox.example')
      const key = await keyOf(id)
      await scene.oauth.revoke('revoked@mailbox.example')
      const mail = await sent(key, {})
      await until(
        async () => ((await admin('GET', `/public/accounts/${id}`)).body['data']?.['status'] as unknown) === 'paused',
      )
      assert.match(
        textOf((await admin('GET', `/public/accounts/${id}`)).body['data']?.['paused_reason']),
        /invalid_grant/,
      )
      assert.strictEqual(await signIn(`account_id=${id}`), id)
      await scene.testbed.settle(mail, 'sent')
    })
  })

  describe('secrets', () => {
    it('no secret is in a log, a response, an event or an attempt', async () => {
      const { rows } = await scene.testbed.system.db.query<{ text: string }>(sql`
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
      const logs = Object.values(scene.testbed.system.roles).map(({ logFile }) => {
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
        scene.oauth.clientSecret,
        Buffer.from(`\0${ADDRESS}\0${PASSWORD}`).toString('base64'),
        'Bearer ',
      ])
        assert.ok(!all.includes(secret), secret)
    })
  })
})
