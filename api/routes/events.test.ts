import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import {
  listOf,
  request,
  startApi,
  textOf,
  type Json,
  type Tenant,
  type TestResponse,
  type TestApi,
} from '#test/support/api.ts'
import { until } from '#test/support/until.ts'

describe('GET /public/events', () => {
  let api: TestApi
  let other: Tenant
  before(async () => {
    api = await startApi()
    other = await api.addTenant()
  })
  beforeEach(() => api.db.query('DELETE FROM events'))
  after(() => api.stop())

  const read = (query = '', key = api.regular): Promise<TestResponse> =>
    api.call('GET', `/public/events${query}`, { key })
  const typesOf = ({ body }: TestResponse): string[] =>
    listOf(body['data']?.['events']).map((event) => textOf(event['type']))
  async function send(to: string | readonly string[], tenant: Tenant = api): Promise<string> {
    const { status, body } = await api.call('POST', '/send-email/instant', {
      key: tenant.regular,
      body: { from: `a@${tenant.domain}`, to, subject: 's', text: 't' },
    })
    assert.strictEqual(status, 200)
    return textOf(body['email_id'])
  }
  /** Waits until no older transaction of the cluster holds events back; other tests write to it too. */
  const ready = async (): Promise<void> => {
    const held = 'SELECT count(*) AS n FROM events WHERE tx >= pg_snapshot_xmin(pg_current_snapshot())'
    await until(async () => (await api.db.query<{ n: number }>(held)).rows[0]?.n === 0)
  }

  it('returns the payloads of webhooks and the next cursor', async () => {
    const id = await send('anna@b.example')
    await ready()
    for (const key of [api.regular, api.admin]) {
      const { status, body } = await read('', key)
      assert.strictEqual(status, 200)
      const [event] = listOf(body['data']?.['events'])
      const { id: eventId, timestamp, message_id: messageId, ...rest } = event as unknown as Record<string, unknown>
      assert.deepEqual(rest, {
        type: 'email.queued',
        event: 'email.queued',
        workspace_id: api.workspaceId,
        email_id: id,
        recipient: 'anna@b.example',
        to: ['anna@b.example'],
        subject: 's',
        sequence: 1,
        metadata: {},
        data: {},
      })
      assert.match(textOf(eventId), /^evt_/)
      assert.match(textOf(messageId), /^msg_\d+_/)
      assert.ok(!Number.isNaN(Date.parse(textOf(timestamp))))
      for (const after of [body['data']?.['next'], eventId]) {
        const on = await read(`?after=${textOf(after)}`, key)
        assert.deepEqual(
          [typesOf(on), on.body['data']?.['has_more'], on.body['data']?.['next']],
          [[], false, body['data']?.['next']],
        )
      }
    }
  })

  it('returns pages and applies filters', async () => {
    const first = await send(['anna@b.example', 'bob@b.example'])
    await send('anna@b.example')
    await api.db.query(`INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'gone@b.example', 'x')`, [
      api.workspaceId,
    ])
    await send('gone@b.example')
    await ready()
    const page = await read('?limit=3')
    assert.deepEqual([typesOf(page).length, page.body['data']?.['has_more']], [3, true])
    assert.deepEqual(typesOf(await read(`?after=${textOf(page.body['data']?.['next'])}`)), ['email.failed'])
    assert.deepEqual(typesOf(await read('?type=email.failed,email.bounced')), ['email.failed'])
    assert.strictEqual(typesOf(await read('?type=*')).length, 4)
    assert.strictEqual(typesOf(await read(`?email_id=${first}`)).length, 2)
    assert.strictEqual(typesOf(await read('?recipient=Anna@b.example')).length, 2)
    assert.strictEqual(typesOf(await read(`?from=${new Date(Date.now() + 60_000).toISOString()}`)).length, 0)
    assert.strictEqual(typesOf(await read(`?to=${new Date(Date.now() + 60_000).toISOString()}`)).length, 4)
  })

  const WRONG: readonly (readonly [query: string, field: string])[] = [
    ['after=x', 'after'],
    ['after=evt_00000000000070008000000000000000', 'after'],
    ['type=email.eaten', 'type'],
    ['email_id=7', 'email_id'],
    ['wait=31', 'wait'],
    ['wait=soon', 'wait'],
    ['from=yesterday', 'from'],
    ['limit=1001', 'limit'],
  ]
  for (const [query, field] of WRONG) {
    it(`refuses ${query}`, async () => {
      const { status, body } = await read(`?${query}`)
      assert.deepEqual([status, body['error'], listOf(body['details'])[0]?.['path']], [400, 'VALIDATION_ERROR', field])
    })
  }

  it('returns nothing of another workspace, also by cursor and by message', async () => {
    const id = await send('anna@b.example')
    await ready()
    const event = listOf((await read()).body['data']?.['events'])[0] as Json
    assert.deepEqual(typesOf(await read('', other.regular)), [])
    assert.deepEqual(typesOf(await read(`?email_id=${id}`, other.regular)), [])
    assert.strictEqual((await read(`?after=${textOf(event['id'])}`, other.regular)).status, 400)
  })

  describe('waiting', () => {
    it('returns as soon as this workspace has an event, and ignores other workspaces', async () => {
      await ready()
      let isAnswered = false
      const waiting = read('?wait=20').finally(() => {
        isAnswered = true
      })
      const others = read('?wait=2', other.regular)
      await send('anna@b.example', other)
      assert.deepEqual(typesOf(await others), ['email.queued'])
      assert.strictEqual(isAnswered, false)
      await send('anna@b.example')
      assert.deepEqual(typesOf(await waiting), ['email.queued'])
    })
    it('returns nothing to a key that was revoked while it waited', async () => {
      const order = { kind: 'regular', prefix: 'ms', workspaceId: api.workspaceId, name: 'x' } as const
      const { rows } = await api.db.query<{ id: string }>('SELECT id FROM domains WHERE domain = $1', [api.domain])
      const made = await createKey(api.db, { ...order, domainId: rows[0]?.id ?? '' })
      const { secretKey, id } = made.kind === 'created' ? made : assert.fail(made.kind)
      const waiting = read('?wait=20', secretKey)
      // the request waits by the time a later request returns
      await read('?wait=0.1')
      const revoked = await api.call('DELETE', `/public/api-keys/${id}`, { key: api.admin })
      assert.strictEqual(revoked.status, 200)
      await until(async () => (await read('', secretKey)).status === 401)
      await send('anna@b.example')
      const { status, body } = await waiting
      assert.deepEqual([status, body['error'], body['data']] as unknown[], [401, 'UNAUTHORIZED', undefined])
    })
    it('returns nothing when the time is over', async () => {
      const { body } = await read('?wait=0.2')
      assert.deepEqual([listOf(body['data']?.['events']), body['data']?.['has_more']], [[], false])
    })
    it('continues if an event does not match the filter', async () => {
      const waiting = read('?wait=20&type=email.failed')
      await send('anna@b.example')
      await api.db.query(`INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'no@b.example', 'x')`, [
        api.workspaceId,
      ])
      await send('no@b.example')
      assert.deepEqual(typesOf(await waiting), ['email.failed'])
    })
    it('is limited per workspace, and ends when the client disconnects', async () => {
      const going = new AbortController()
      const url = `${api.url}/api/v1/public/events?wait=30`
      const statuses: number[] = []
      const waiting = Array.from({ length: 60 }, () =>
        fetch(url, { headers: { authorization: `Bearer ${api.regular}` }, signal: going.signal }).then(
          (answer) => statuses.push(answer.status),
          () => undefined,
        ),
      )
      await until(() => statuses.length === 10)
      assert.deepEqual(new Set(statuses), new Set([429]))
      const answered = read('?wait=0.1', other.regular)
      assert.strictEqual((await answered).status, 200)
      going.abort()
      await Promise.all(waiting)
      await until(async () => (await read('?wait=0.01')).status === 200)
    })
    it('polls while Redis is unavailable', async () => {
      const alone = await startApi()
      try {
        await alone.redis.crash()
        const waiting = alone.call('GET', '/public/events?wait=20')
        const sent = await alone.call('POST', '/send-email/instant', {
          body: { from: `a@${alone.domain}`, to: 'a@b.example', subject: 's', text: 't' },
        })
        assert.strictEqual(sent.status, 200)
        assert.deepEqual(typesOf(await waiting), ['email.queued'])
      } finally {
        await alone.stop()
      }
    })
    it('ends immediately when the process stops', async () => {
      const alone = await startApi()
      const waiting = request('GET', `${alone.url}/api/v1/public/events?wait=30`, { key: alone.regular })
      // the request waits by the time a later request returns
      await alone.call('GET', '/public/events?wait=0.1')
      await alone.stop()
      assert.deepEqual([(await waiting).status, typesOf(await waiting)], [200, []])
    })
  })
})
