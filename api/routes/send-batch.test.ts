import { assert } from 'chai'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

describe('POST /send-email/batch', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const message = (fields: object = {}): object => ({
    from: `me@${api.domain}`,
    to: ['a@b.example'],
    subject: 's',
    body: 'x',
    ...fields,
  })
  const batch = (body: object, path = '/send-email/batch'): Promise<TestResponse> => api.call('POST', path, { body })
  const results = (answer: TestResponse): Json[] => listOf(answer.body['data']?.['results'])

  it('accepts or refuses each message on its own and lists the results in order', async () => {
    const messages = [
      message({ subject: 'one' }),
      message({ to: 'nobody' }),
      5,
      message({ from: 'me@other.example' }),
      message({ subject: 'five', template_id: 'x', body: undefined }),
      message({ subject: 'six' }),
    ]
    const answer = await batch({ messages })
    assert.strictEqual(answer.status, 200)
    assert.deepEqual(
      results(answer).map((result) => [result['index'], result['success'], result['status'] ?? result['error']]),
      [
        [0, true, 'queued'],
        [1, false, 'VALIDATION_ERROR'],
        [2, false, 'VALIDATION_ERROR'],
        [3, false, 'FORBIDDEN'],
        [4, false, 'INVALID_TEMPLATE'],
        [5, true, 'queued'],
      ],
    )
    assert.deepEqual(
      [
        answer.body['success'],
        answer.body['data']?.['total'],
        answer.body['data']?.['accepted'],
        answer.body['data']?.['refused'],
      ],
      [true, 6, 2, 4],
    )
    assert.deepEqual(listOf(results(answer)[1]?.['details'])[0]?.['path'], 'to')
    const first = results(answer)[0]
    assert.match(textOf(first?.['id']), /^msg_\d+_[0-9a-f]{32}$/)
    assert.deepEqual(
      [first?.['object'], first?.['subject'], first?.['queue'], first?.['metadata']?.['priority']],
      ['email', 'one', 'async', 'normal'],
    )
    const { rows } = await api.db.query<{ subject: string }>('SELECT subject FROM messages ORDER BY subject')
    assert.deepEqual(
      rows.map(({ subject }) => subject),
      ['one', 'six'],
    )
  })

  const TIERS: readonly (readonly [tier: string | null | undefined, priority: string])[] = [
    ['instant', 'instant'],
    ['high', 'high'],
    ['normal', 'normal'],
    ['async', 'normal'],
    ['queue', 'normal'],
    ['bulk', 'bulk'],
    ['low', 'bulk'],
    ['HIGH', 'high'],
    [null, 'normal'],
    [undefined, 'normal'],
  ]
  for (const [tier, priority] of TIERS) {
    it(`tier ${String(tier)} sends as ${priority}`, async () => {
      const answer = await batch({ messages: [message()], tier }, '/public/send-email/batch')
      assert.deepEqual(
        results(answer).map((result) => result['metadata']?.['priority']),
        [priority],
      )
    })
  }

  it('accepts a bare array, whose tier is in the query', async () => {
    const list = [message({ subject: 'alone' }), message({ to: 'nobody' })]
    for (const [query, priority] of [
      ['', 'normal'],
      ['?tier=high', 'high'],
    ] as const) {
      const answer = await batch(list, `/send-email/batch${query}`)
      assert.deepEqual(
        [answer.status, results(answer).map((one) => one['metadata']?.['priority'] ?? one['error'])],
        [200, [priority, 'VALIDATION_ERROR']],
      )
    }
    const both = await batch({ messages: list, tier: 'bulk' }, '/send-email/batch?tier=high')
    assert.strictEqual(results(both)[0]?.['metadata']?.['priority'], 'bulk')
  })
  it('an array and an object with the same messages are the same batch for an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'either form' }
    const messages = [message({ subject: 'either form' })]
    const first = await api.call('POST', '/send-email/batch?tier=high', { body: messages, headers })
    const second = await api.call('POST', '/send-email/batch', { body: { messages, tier: 'high' }, headers })
    assert.deepEqual([second.body, second.headers.get('idempotent-replayed')], [first.body, 'true'])
  })

  it('stores 500 messages in few commits', async () => {
    const before = await commits()
    const answer = await batch({ messages: Array.from({ length: 500 }, (_, i) => message({ subject: `m${i}` })) })
    assert.strictEqual(answer.body['data']?.['accepted'], 500)
    assert.deepEqual(
      results(answer).map((result) => result['subject']),
      Array.from({ length: 500 }, (_, i) => `m${i}`),
    )
    assert.ok((await commits()) - before <= 20, `${(await commits()) - before} commits`)
  })
  async function commits(): Promise<number> {
    const text = textOf((await api.call('GET', '//metrics')).body)
    return Number(/^mailstead_accept_batches_total\{.*\} (\d+)$/m.exec(text)?.[1])
  }

  const REFUSED: readonly (readonly [why: string, body: object, path: string])[] = [
    ['no messages', {}, 'messages'],
    ['an empty list', { messages: [] }, 'messages'],
    ['an empty array', [], 'messages'],
    ['an array of 501 messages', Array.from({ length: 501 }, () => ({})), 'messages'],
    ['501 messages', { messages: Array.from({ length: 501 }, () => ({})) }, 'messages'],
    ['messages that are not a list', { messages: {} }, 'messages'],
    ['an invalid tier', { messages: [{}], tier: 'fast' }, 'tier'],
    ['a tier that is a number', { messages: [{}], tier: 1 }, 'tier'],
  ]
  for (const [why, body, path] of REFUSED) {
    it(`${why} is 400`, async () => {
      const answer = await batch(body)
      assert.deepEqual(
        [answer.status, answer.body['error'], listOf(answer.body['details'])[0]?.['path']],
        [400, 'VALIDATION_ERROR', path],
      )
    })
  }
  for (const body of [{ emails: [{}] }, { messages: {} }])
    it(`the wrong shape ${JSON.stringify(body)} shows the right one`, async () =>
      assert.match(textOf((await batch(body)).body['message']), /must be a list of messages: \{"messages": \[\{"from"/))
})
