import { assert } from 'chai'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

describe('Idempotency-Key', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  let n = 0
  const newKey = (): string => `key ${++n}`
  const message = (fields: object = {}): object => ({
    from: `me@${api.domain}`,
    to: ['a@b.example'],
    subject: 's',
    body: 'x',
    ...fields,
  })
  const send = (key: string, body: object, path = 'high'): Promise<TestResponse> =>
    api.call('POST', `/send-email/${path}`, { body, headers: { 'idempotency-key': key } })
  const countMessages = async (): Promise<number> =>
    Number((await api.db.query<{ n: number }>('SELECT count(*) AS n FROM messages')).rows[0]?.n)
  const isReplay = (answer: TestResponse): boolean => answer.headers.get('idempotent-replayed') === 'true'

  it('same key and same body replays the first response byte for byte', async () => {
    const key = newKey()
    const first = await send(key, message())
    const before = await countMessages()
    const second = await send(key, message())
    assert.deepEqual([first.status, isReplay(first), second.status, isReplay(second)], [200, false, 200, true])
    assert.strictEqual(JSON.stringify(second.body), JSON.stringify(first.body))
    assert.strictEqual(await countMessages(), before)
  })

  const SAME: readonly (readonly [how: string, body: () => object, path: string])[] = [
    ['keys in another order', () => Object.fromEntries(Object.entries(message()).toReversed()), 'high'],
    [
      'an alias for a field',
      () => {
        const { body, ...rest } = message() as { body: string }
        return { ...rest, text: body }
      },
      'high',
    ],
    ['another form of the recipients', () => message({ to: 'a@b.example' }), 'high'],
    ['an alias of the path', () => message(), '../public/send-email/high'],
  ]
  for (const [how, body, path] of SAME) {
    it(`the same message with ${how} is the same request`, async () => {
      const key = newKey()
      const first = await send(key, message())
      const second = await send(key, body(), path)
      assert.ok(isReplay(second), JSON.stringify(second.body))
      assert.strictEqual(second.body['id'], first.body['id'])
    })
  }

  const OTHER: readonly (readonly [how: string, body: () => object, path: string])[] = [
    ['another recipient', () => message({ to: 'c@b.example' }), 'high'],
    ['another attachment', () => message({ attachments: [{ filename: 'a', content: 'YQ==' }] }), 'high'],
    ['another tier', () => message(), 'bulk'],
    ['a time', () => message({ scheduled_at: new Date(Date.now() + 3600_000).toISOString() }), 'schedule'],
  ]
  for (const [how, body, path] of OTHER) {
    it(`same key with ${how} is 409 IDEMPOTENCY_MISMATCH`, async () => {
      const key = newKey()
      await send(key, message())
      const before = await countMessages()
      const { status, body: answer } = await send(key, body(), path)
      assert.deepEqual([status, answer['error']], [409, 'IDEMPOTENCY_MISMATCH'])
      assert.strictEqual(await countMessages(), before)
    })
  }

  it('50 concurrent duplicates: one message; every response is its result or 409 IDEMPOTENCY_IN_PROGRESS', async () => {
    const before = await countMessages()
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(key, message())))
    assert.strictEqual(await countMessages(), before + 1)
    const ids = new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body['id']))
    assert.strictEqual(ids.size, 1)
    assert.strictEqual(answers.filter((answer) => answer.status === 200 && !isReplay(answer)).length, 1)
    for (const { status, body } of answers)
      assert.ok(
        status === 200 || (status === 409 && textOf(body['error']) === 'IDEMPOTENCY_IN_PROGRESS'),
        JSON.stringify(body),
      )
  })

  it('another workspace can use the same key', async () => {
    const key = newKey()
    const other = await api.addTenant()
    await send(key, message())
    const answer = await api.call('POST', '/send-email/high', {
      key: other.regular,
      body: message({ from: `me@${other.domain}` }),
      headers: { 'idempotency-key': key },
    })
    assert.deepEqual([answer.status, isReplay(answer)], [200, false])
  })

  it('a refused request does not consume its key', async () => {
    const key = newKey()
    assert.strictEqual((await send(key, message({ to: 'nobody' }))).status, 400)
    assert.strictEqual((await send(key, message({ from: 'me@other.example' }))).status, 403)
    const answer = await send(key, message())
    assert.deepEqual([answer.status, isReplay(answer)], [200, false])
  })

  it('an accepted request is replayed even if it would be refused now', async () => {
    const tenant = await api.addTenant()
    const body = message({ from: `me@${tenant.domain}` })
    const call = (fields: object): Promise<TestResponse> =>
      api.call('POST', '/send-email/high', {
        key: tenant.regular,
        body: { ...body, ...fields },
        headers: { 'idempotency-key': 'k' },
      })
    const first = await call({})
    await api.db.query(`UPDATE domains SET verification_status = 'failed' WHERE id = $1`, [tenant.domainId])
    const other = (): Promise<TestResponse> => api.call('POST', '/send-email/high', { key: tenant.regular, body })
    while ((await other()).status !== 403)
      await new Promise((resolve) => {
        setTimeout(resolve, 20)
      })
    const second = await call({})
    assert.deepEqual([second.status, isReplay(second), second.body['id']], [200, true, first.body['id']])
    assert.strictEqual((await call({ subject: 'another' })).body['error'], 'IDEMPOTENCY_MISMATCH')
  })

  for (const [why, key] of [
    ['longer than 256 characters', 'x'.repeat(257)],
    ['empty', ''],
  ] as const) {
    it(`a key that is ${why} is 400`, async () => {
      const { status, body } = await send(key, message())
      assert.deepEqual(
        [status, body['error'], body['details']?.['0']?.['path']],
        [400, 'VALIDATION_ERROR', 'Idempotency-Key'],
      )
    })
  }
  it('a key of 256 characters is not too long', async () =>
    assert.strictEqual((await send('y'.repeat(256), message())).status, 200))

  describe('of a batch', () => {
    const batch = (key: string, subjects: readonly string[]): Promise<TestResponse> =>
      send(key, { messages: subjects.map((subject) => (subject === 'bad' ? {} : message({ subject }))) }, 'batch')
    const ids = (answer: TestResponse): Json[] =>
      listOf(answer.body['data']?.['results']).map((result) => result['id'] as Json)

    it('replays the whole batch', async () => {
      const key = newKey()
      const first = await batch(key, ['a', 'bad', 'c'])
      const before = await countMessages()
      const second = await batch(key, ['a', 'bad', 'c'])
      assert.ok(isReplay(second) && !isReplay(first))
      // what was refused is judged again, and names the request that it belongs to
      const withoutRequest = ({ body }: TestResponse): unknown =>
        JSON.parse(JSON.stringify(body, (name, value: unknown) => (name === 'request_id' ? undefined : value)))
      assert.deepEqual(withoutRequest(second), withoutRequest(first))
      assert.strictEqual(await countMessages(), before)
    })
    it('another batch with the same key is 409, whatever its length', async () => {
      const key = newKey()
      await batch(key, ['bad', 'b', 'c'])
      const before = await countMessages()
      for (const other of [['a'], ['a', 'b', 'c', 'd'], ['bad', 'b', 'x']])
        assert.strictEqual((await batch(key, other)).body['error'], 'IDEMPOTENCY_MISMATCH')
      assert.strictEqual(await countMessages(), before)
    })
    it('concurrent duplicates: each message once, the same ids in both responses', async () => {
      const key = newKey()
      const before = await countMessages()
      const subjects = Array.from({ length: 100 }, (_, i) => `s${i}`)
      await Promise.all([batch(key, subjects), batch(key, subjects), batch(key, subjects)])
      assert.strictEqual(await countMessages(), before + 100)
      const [one, two] = await Promise.all([batch(key, subjects), batch(key, subjects)])
      const messageIds = ids(one).map((id, i) => id ?? ids(two)[i])
      assert.strictEqual(new Set(messageIds).size, 100)
    })
  })
})
