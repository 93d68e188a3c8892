import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { CAMPAIGN_COUNTERS } from '#src/campaigns/statistics.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type Json, type Tenant, type TestApi } from '#test/support/api.ts'
import { openEventStream, type EventStream, type StreamOptions } from '#test/support/event-stream.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { startRedis } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'

describe('GET /public/changes', () => {
  let api: TestApi
  let other: Tenant
  const opened: EventStream[] = []
  before(async () => {
    api = await startApi()
    other = await api.addTenant()
  })
  afterEach(() => opened.splice(0).forEach((stream) => stream.close()))
  after(() => api.stop())

  async function open(query = '', options: Partial<StreamOptions> = {}, url = api.url): Promise<EventStream> {
    const path = query.startsWith('/') ? query : `/public/changes${query}`
    const stream = await openEventStream(`${url}/api/v1${path}`, { key: api.admin, ...options })
    opened.push(stream)
    if (stream.status === 200) await stream.next(({ type }) => type === 'ready')
    return stream
  }
  async function send(tenant: Tenant = api): Promise<string> {
    const { status, body } = await api.call('POST', '/send-email/instant', {
      key: tenant.regular,
      body: { from: `a@${tenant.domain}`, to: 'anna@b.example', subject: 'a secret subject', text: 't' },
    })
    assert.strictEqual(status, 200)
    return textOf(body['email_id'])
  }
  const ids = (changes: readonly Json[]): string[] => changes.map((change) => textOf(change['id']))
  const hasId = (stream: EventStream, topic: string, id: string): Promise<void> =>
    until(() => ids(stream.changesOf(topic)).includes(id))
  const verify = (tenant: Tenant, status: string): Promise<unknown> =>
    api.db.query('UPDATE domains SET verification_status = $2 WHERE id = $1', [tenant.domainId, status])

  it('reports messages and objects as they change, without addresses or subjects', async () => {
    const stream = await open('', { headers: { 'accept-encoding': 'gzip' } })
    assert.strictEqual(stream.headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.strictEqual(stream.headers['x-accel-buffering'], 'no')
    assert.isUndefined(stream.headers['content-encoding'])
    assert.match(stream.text, /^retry: \d+\n/)
    const email = await send()
    await hasId(stream, 'messages', email)
    const [change] = stream.changesOf('messages')
    assert.deepEqual(change as unknown, { id: email, change: 'email.queued' })
    await verify(api, 'degraded')
    await hasId(stream, 'domains', api.domainId)
    const [domain] = stream.changesOf('domains')
    assert.deepEqual(domain as unknown, { id: api.domainId, change: 'update', verification_status: 'degraded' })
    await verify(api, 'verified')
    for (const text of ['anna', 'secret subject']) assert.notInclude(stream.text, text)
  })

  it('selects topics, and refuses those that the key may not read', async () => {
    const stream = await open('?topics=domains', { key: api.admin })
    await send()
    await verify(api, 'degraded')
    await hasId(stream, 'domains', api.domainId)
    assert.deepEqual(stream.changesOf('messages'), [])
    await verify(api, 'verified')
    const regular = await open('', { key: api.regular })
    assert.deepEqual(listOf(regular.events[0]?.data['topics']) as unknown, [
      'messages',
      'templates',
      'captured-emails',
      'open-mail',
    ])
    const REFUSED = [
      ['?topics=domains', api.regular, 403],
      ['?topics=teleports', api.admin, 400],
      ['?topics=queue', api.admin, 400],
      ['', 'ms_unknown.adm_0', 401],
      ['/admin/changes', api.admin, 401],
    ] as const
    for (const [query, key, status] of REFUSED) assert.strictEqual((await open(query, { key })).status, status, query)
  })

  it('reports nothing of another workspace, live or by a position', async () => {
    const mine = await open()
    const theirs = await open('', { key: other.admin })
    const start = mine.lastId
    const email = await send()
    await verify(api, 'degraded')
    await hasId(mine, 'messages', email)
    await hasId(mine, 'domains', api.domainId)
    const resumed = await open('', { key: other.admin, lastId: start })
    const later = await send(other)
    await hasId(theirs, 'messages', later)
    await hasId(resumed, 'messages', later)
    for (const stream of [theirs, resumed]) {
      assert.deepEqual(ids(stream.changesOf('messages')), [later])
      assert.deepEqual(stream.changesOf('domains'), [])
      assert.notInclude(stream.text, api.domainId)
    }
    await verify(api, 'verified')
  })

  it('continues after the last event that a client had, also at another process', async () => {
    const first = await open()
    const before = await send()
    await hasId(first, 'messages', before)
    const lastId = first.lastId
    first.close()
    const missed = await send()
    await verify(api, 'degraded')
    const { redisUrl, databaseUrl } = api.config
    const second = await startApi({ REDIS_URL: redisUrl ?? '' }, databaseUrl ?? undefined)
    try {
      const resumed = await open('', { lastId }, second.url)
      assert.strictEqual(resumed.events[0]?.data['resumed'] as unknown, true)
      assert.include(ids(resumed.changesOf('messages')), missed)
      assert.notInclude(ids(resumed.changesOf('messages')), before)
      assert.include(ids(resumed.changesOf('domains')), api.domainId)
      const live = await send()
      await hasId(resumed, 'messages', live)
    } finally {
      await second.stop()
      await verify(api, 'verified')
    }
    assert.isTrue(opened.at(-1)?.isEnded, 'the stop ended the stream')
  })

  it('misses no change of a transaction that was open at the position', async () => {
    let position = ''
    await api.db.transaction(async (tx) => {
      await tx.query('UPDATE domains SET verification_status = $2 WHERE id = $1', [api.domainId, 'degraded'])
      const stream = await open()
      const email = await send()
      await hasId(stream, 'messages', email)
      assert.deepEqual(stream.changesOf('domains'), [])
      position = stream.lastId
    })
    await hasId(opened[0] as EventStream, 'domains', api.domainId)
    const resumed = await open('', { lastId: position })
    assert.include(ids(resumed.changesOf('domains')), api.domainId)
    await verify(api, 'verified')
  })

  it('tells a client with a position it does not know to read everything again', async () => {
    const { lastId } = await open()
    const [history = '', at = '', ...rest] = lastId.split('.')
    const positions = [
      ['x', 'unknown position'],
      ["1:1:'; DROP TABLE changes", 'unknown position'],
      [['AAAAAAAA', at, ...rest].join('.'), 'unknown position'],
      [[history, at, '9', '5', ''].join('.'), 'unknown position'],
      [[history, Number(at) - 11 * 60_000, ...rest].join('.'), 'too old'],
    ] as const
    for (const [position, reason] of positions) {
      const stream = await open('', { lastId: position })
      const reset = await stream.next(({ type }) => type === 'reset')
      assert.strictEqual(reset.data['reason'] as unknown, reason, position)
      assert.isNotNull(reset.id)
    }
  })

  it('ends when the key is revoked, loses its scope, or the workspace is suspended', async () => {
    const tenant = await api.addTenant()
    const { workspaceId } = tenant
    const create = async (): Promise<{ id: string; key: string }> => {
      const key = await createKey(api.db, {
        kind: 'admin',
        prefix: api.config.keyPrefix,
        workspaceId,
        name: 'k',
        scopes: ['domains:manage'],
      })
      if (key.kind !== 'created') throw new Error(key.kind)
      return { id: key.id, key: key.secretKey }
    }
    const [revoked, narrowed] = await Promise.all([create(), create()])
    const ENDS = [
      [await open('', { key: revoked.key }), 'UPDATE api_keys SET is_active = false WHERE id = $1', revoked.id],
      [await open('', { key: narrowed.key }), `UPDATE api_keys SET scopes = '{}' WHERE id = $1`, narrowed.id],
      [
        await open('', { key: tenant.admin }),
        `INSERT INTO suspensions (kind, subject, scope, reason) VALUES ('workspace', $1, 'all', 'x')`,
        workspaceId,
      ],
    ] as const
    for (const [stream, statement, id] of ENDS) {
      await api.db.query(statement, [id])
      await stream.next(({ type }) => type === 'closed')
      await until(() => stream.isEnded)
    }
  })

  it('ends with a rotated secret, also beside a stream of the new one', async () => {
    const tenant = await api.addTenant()
    const { body: listed } = await api.call('GET', '/public/api-keys?type=admin', { key: tenant.admin })
    const { id } = (listed['data'] as unknown as { keys: [{ id: string }] }).keys[0]
    const leaked = await open('', { key: tenant.admin })
    const { body } = await api.call('POST', `/public/api-keys/${id}/rotate`, {
      key: tenant.admin,
      body: { overlap_seconds: 5 },
    })
    const { secret_key: next } = body['data'] as unknown as { secret_key: string }
    const renewed = await open('', { key: next })
    await api.call('POST', `/public/api-keys/${id}/rotate`, { key: next, body: { overlap_seconds: 3600 } })
    await api.db.query('UPDATE api_key_secrets SET expires_at = now() WHERE key_id = $1 AND expires_at < now() + $2', [
      id,
      '1 minute',
    ])
    await until(() => leaked.isEnded)
    assert.isFalse(renewed.isEnded)
  })

  it('reports the service to the operator only', async () => {
    const stream = await open('/admin/changes', { key: OPERATOR_TOKEN })
    const node = `node-${newId()}`
    await api.db.query('INSERT INTO nodes (name) VALUES ($1)', [node])
    await hasId(stream, 'nodes', node)
    await stream.next(({ type }) => type === 'queue')
    await send()
    await until(() => stream.changesOf('queue').some((tier) => Number(tier['scheduled']) > 0))
    assert.deepEqual(stream.changesOf('messages'), [])
  })

  it('reports the counters of a campaign that is being sent', async () => {
    const stream = await open('?topics=campaigns')
    const campaign = newId()
    await api.db.query(
      `INSERT INTO campaigns (id, workspace_id, name, status, is_open) VALUES ($1, $2, 'c', 'SENDING', true)`,
      [campaign, api.workspaceId],
    )
    const counts = CAMPAIGN_COUNTERS.map((name) => (name === 'delivered' ? 3 : 0))
    await api.db.query(
      `INSERT INTO campaign_changes (campaign_id, ${CAMPAIGN_COUNTERS.join(', ')}) VALUES ($1, ${counts.join(', ')})`,
      [campaign],
    )
    await until(() => stream.changesOf('campaigns').some((one) => Number(one['delivered']) === 3))
    await api.db.query('UPDATE campaigns SET is_open = false WHERE id = $1', [campaign])
  })

  it('says that there is more when a burst has too many objects', async () => {
    const stream = await open('?topics=templates')
    await api.db.query(
      sql`
        INSERT INTO templates (id, workspace_id, name, subject, body)
        SELECT gen_random_uuid(), $1, 'n', 's', 'b'
        FROM generate_series(1, 250)
      `,
      [api.workspaceId],
    )
    const event = await stream.next(({ type }) => type === 'templates')
    assert.deepEqual([listOf(event.data['changes']).length, event.data['has_more']] as unknown, [100, true])
  })

  it('reports changes while Redis is silent, and after PostgreSQL lost its connections', async () => {
    const redis = await startRedis()
    const proxy = await startSilentProxy(redis.url)
    const alone = await startApi({ REDIS_URL: proxy.url })
    try {
      const stream = await openEventStream(`${alone.url}/api/v1/public/changes`, { key: alone.admin })
      opened.push(stream)
      await stream.next(({ type }) => type === 'ready')
      proxy.silence('new')
      const post = async (): Promise<string> => {
        const sent = await alone.call('POST', '/send-email/instant', {
          body: { from: `a@${alone.domain}`, to: 'a@b.example', subject: 's', text: 't' },
        })
        return textOf(sent.body['email_id'])
      }
      await hasId(stream, 'messages', await post())
      proxy.resume()
      await alone.db.query(
        sql`
          SELECT pg_terminate_backend(pid)
          FROM pg_stat_activity
          WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        `,
      )
      await until(async () => (await alone.call('GET', '/public/events')).status === 200)
      await hasId(stream, 'messages', await post())
    } finally {
      await alone.stop()
      await proxy.stop()
      await redis.stop()
    }
  })
})
