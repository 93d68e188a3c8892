/**
 * Connected accounts over HTTP: create, update, test, resume and delete. Sign-ins are in oauth.test.ts, and the
 * delivery of their mail in test/flows.
 */
import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { storeTestResult, parseTestRequest, claimTest } from '#src/providers/connection-tests.ts'
import { pauseAccount } from '#src/providers/pause-account.ts'
import { ACCOUNT_TESTS_CHANNEL } from '#src/queue/keys.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

const SECRET = 'correct horse battery'
const SMTP = {
  name: 'Office',
  host: 'smtp.example.com',
  port: 587,
  security: 'starttls',
  username: 'office@example.com',
  password: SECRET,
}

describe('connected accounts over HTTP', () => {
  let api: TestApi
  let redis: Redis
  let subscriber: Redis
  before(async () => {
    api = await startApi({
      OAUTH_PROVIDERS_FILE: 'test/support/oauth-providers.json',
      ALLOW_PRIVATE_TARGETS: '10.9.0.0/16',
    })
    const log = openLog({ logLevel: 'silent' }, 'test')
    redis = openRedis(api.redis.url, log)
    subscriber = openRedis(api.redis.url, log, 'subscriber')
  })
  after(async () => {
    redis.disconnect()
    subscriber.disconnect()
    await api.stop()
  })

  const ask = (method: string, path: string, body?: object, key = api.admin): Promise<TestResponse> =>
    api.call(method, `/public/accounts${path}`, { key, ...(body === undefined ? {} : { body }) })
  async function connect(more: object = {}): Promise<Json> {
    const { status, body } = await ask('POST', '', { ...SMTP, ...more })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return body['data'] as Json
  }
  const idOf = async (): Promise<string> => textOf((await connect())['id'])

  it('create accepts every alias and never returns the password', async () => {
    const plain = await connect({ from: 'Office@example.com, sales@example.com' })
    assert.deepEqual([plain['addresses'], plain['status'], plain['messages_per_minute']] as unknown, [
      ['office@example.com', 'sales@example.com'],
      'untested',
      300,
    ])
    const other = await connect({
      host: undefined,
      smtp_host: 'SMTP.Bücher.example.',
      port: undefined,
      smtp_port: 465,
      security: undefined,
      password: undefined,
      pass: SECRET,
      username: undefined,
      user: 'user',
      addresses: ['a@b.example'],
      messages_per_minute: null,
    })
    assert.deepEqual([other['host'], other['security'], other['username'], other['messages_per_minute']] as unknown, [
      'smtp.xn--bcher-kva.example',
      'tls',
      'user',
      null,
    ])
    const listed = await ask('GET', '?limit=100')
    assert.ok(listOf(listed.body['data']?.['accounts']).length >= 2)
    const { rows } = await api.db.query('SELECT row_to_json(a)::text AS text FROM connected_accounts a')
    assert.ok(!JSON.stringify([plain, other, listed.body, rows]).includes(SECRET))
  })

  const WRONG: readonly (readonly [name: string, body: object, path: string])[] = [
    ['no host', { host: undefined }, 'host'],
    ['no password', { password: undefined }, 'password'],
    ['no user name', { username: undefined }, 'username'],
    ['an invalid host', { host: 'a b' }, 'host'],
    ['a command in the host', { host: 'x\r\nQUIT' }, 'host'],
    ['loopback', { host: '127.0.0.1' }, 'host'],
    ['a private address in another form', { host: '::ffff:192.168.1.1' }, 'host'],
    ['an invalid port', { port: 0 }, 'port'],
    ['an unknown security', { security: 'ssl' }, 'security'],
    ['plain text to a public address', { host: '9.9.9.9', security: 'none' }, 'security'],
    ['a password with a line break', { password: 'a\r\nb' }, 'password'],
    ['no from, and a user name that is not an address', { username: 'user' }, 'from'],
    ['an invalid address', { from: ['a@b.example', 'nobody'] }, 'from'],
    ['no connections', { connections: 0 }, 'connections'],
  ]
  for (const [name, more, path] of WRONG)
    it(`refuses ${name}`, async () => {
      const { status, body } = await ask('POST', '', { ...SMTP, ...more })
      assert.deepEqual([status, body['error']] as unknown, [400, 'VALIDATION_ERROR'])
      assert.ok(
        listOf(body['details']).some((detail) => (detail['path'] as unknown) === path),
        JSON.stringify(body),
      )
    })
  it('allows plain text in a network of ALLOW_PRIVATE_TARGETS', async () => {
    assert.strictEqual((await connect({ host: '10.9.1.1', port: undefined, security: 'none' }))['port'], 25)
  })
  it('a workspace has at most 100 accounts', async () => {
    const tenant = await api.addTenant()
    const answers = await Promise.all(Array.from({ length: 103 }, () => ask('POST', '', SMTP, tenant.admin)))
    assert.deepEqual(
      [201, 409].map((status) => answers.filter((answer) => answer.status === status).length),
      [100, 3],
    )
  })

  it('the server or user name changes only with the password, so that credentials reach no other server', async () => {
    const id = await idOf()
    for (const change of [
      { host: 'evil.example' },
      { port: 2525 },
      { security: 'tls' },
      { username: 'other@example.com' },
    ]) {
      const { status, body } = await ask('PATCH', `/${id}`, change)
      assert.deepEqual([status, listOf(body['details'])[0]?.['path']] as unknown, [400, 'password'])
    }
    const changed = await ask('PATCH', `/${id}`, {
      name: 'New',
      from: 'x@example.com',
      connections: 2,
      messages_per_minute: null,
    })
    const {
      name,
      addresses,
      connections,
      messages_per_minute: perMinute,
      host,
    } = changed.body['data'] as unknown as Record<string, unknown>
    assert.deepEqual(
      [name, addresses, connections, perMinute, host],
      ['New', ['x@example.com'], 2, null, 'smtp.example.com'],
    )
    const moved = await ask('PATCH', `/${id}`, { host: 'smtp2.example.com', password: 'new' })
    assert.strictEqual(moved.body['data']?.['host'], 'smtp2.example.com')
  })
  it('a paused account shows its reason, until it is resumed', async () => {
    const id = await idOf()
    const ctx = { db: api.db, redis, clock: { now: () => Date.now() } }
    assert.strictEqual(await pauseAccount(ctx, { id, generation: 9 }, 'of older credentials'), false)
    const pauses = await Promise.all([1, 2, 3].map(() => pauseAccount(ctx, { id, generation: 1 }, '535 \x1b[31mno')))
    assert.strictEqual(pauses.filter(Boolean).length, 1)
    const { body } = await ask('GET', `/${id}`)
    assert.deepEqual([body['data']?.['status'], body['data']?.['paused_reason']] as unknown, ['paused', '535  [31mno'])
    const events = await api.db.query(
      `SELECT 1 FROM events WHERE type = 'account.paused' AND data ->> 'account_id' = $1`,
      [id],
    )
    assert.strictEqual(events.rows.length, 1)
    assert.strictEqual(
      (await api.db.query('SELECT 1 FROM suspensions WHERE subject = $1', [`account:${id}`])).rows.length,
      1,
    )
    assert.strictEqual((await ask('POST', `/${id}/resume`)).body['data']?.['status'], 'untested')
    assert.strictEqual(
      (await api.db.query('SELECT 1 FROM suspensions WHERE subject = $1', [`account:${id}`])).rows.length,
      0,
    )
  })
  it('one outbound process runs a connection test, once for concurrent requests; success makes it active', async () => {
    const id = await idOf()
    const ctx = { db: api.db, redis, clock: { now: () => Date.now() } }
    let testCount = 0
    let isWorking = false
    subscriber.on(
      'message',
      (_channel: string, word: string) =>
        void (async () => {
          const named = parseTestRequest(word)
          if (
            named === null ||
            (await Promise.all([1, 2].map(() => claimTest(ctx, named)))).filter(Boolean).length === 0
          )
            return
          testCount++
          await storeTestResult(ctx, named, {
            ok: isWorking,
            steps: [{ step: 'dns', ok: isWorking, detail: 'no such name' }],
            conversation: '-- x',
            durationMs: 3,
            at: new Date().toISOString(),
          })
        })(),
    )
    await subscriber.subscribe(ACCOUNT_TESTS_CHANNEL)
    const stranger = await api.addTenant()
    assert.strictEqual((await ask('POST', `/${id}/test`, undefined, stranger.admin)).status, 404)
    const answers = await Promise.all([1, 2, 3].map(() => ask('POST', `/${id}/test`)))
    for (const { status, body } of answers) assert.deepEqual([status, body['data']?.['ok']] as unknown, [200, false])
    assert.ok(testCount >= 1 && testCount <= 3)
    assert.match(textOf(answers[0]?.body['message']), /no such name/)
    const statusOf = async (): Promise<unknown> => (await ask('GET', `/${id}`)).body['data']?.['status']
    assert.strictEqual(await statusOf(), 'untested')
    isWorking = true
    await ask('POST', `/${id}/test`)
    assert.strictEqual(await statusOf(), 'active')
    // while an outbound process runs, new credentials are tested at once
    await api.db.query(
      `INSERT INTO leases (version, machine, pid, expires_at) VALUES ('0.2.0', 'x', 1, now() + interval '1 hour')`,
    )
    const working = await connect()
    assert.deepEqual([working['status'], working['test']?.['ok']], ['active', true])
    isWorking = false
    const changed = await ask('PATCH', `/${textOf(working['id'])}`, { password: 'wrong' })
    assert.match(textOf(changed.body['message']), /does not work: its test failed at dns: no such name/)
    assert.strictEqual(changed.body['data']?.['status'], 'untested')
    await api.db.query('DELETE FROM leases')
  })
  it('an unknown account and an account of another workspace are 404', async () => {
    const stranger = await api.addTenant()
    const id = await idOf()
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/resume'],
      ['POST', '/test'],
    ] as const)
      for (const [key, who] of [
        [stranger.admin, id],
        [api.admin, 'nonsense'],
        [api.admin, '019a9a00-0000-7000-8000-000000000000'],
      ] as const)
        assert.strictEqual(
          (await ask(method, `/${who}${path}`, method === 'PATCH' ? { name: 'x' } : undefined, key)).status,
          404,
          `${method} ${path}`,
        )
    assert.strictEqual((await ask('GET', `/${id}`, undefined, api.regular)).status, 403)
    assert.strictEqual((await ask('DELETE', `/${id}`)).status, 204)
  })
})
