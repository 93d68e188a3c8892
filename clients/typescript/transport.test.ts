/** The client against a server that is played: what it sends, when it tries again, and what its errors say. */
import { assert } from 'chai'
import { Mailstead, MailsteadError, type MailsteadOptions } from './mailstead.ts'

interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: unknown
}

type Reply = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]

const away: Reply = [503, { success: false, error: 'SERVICE_UNAVAILABLE', message: 'Away.' }, { 'retry-after': '0' }]
const tooMany: Reply = [429, { success: false, error: 'RATE_LIMITED', message: 'Too many.' }, { 'retry-after': '0' }]
const fine: Reply = [200, { success: true, message: 'ok', data: {} }]
const HOOK = { url: 'https://x.example' }
const BODY = { from: 'me@a.example', to: ['a@b.example'], subject: 's', html: 'x' }

/** A client whose server gives these replies, the last one for ever. */
function play(replies: readonly Reply[], options: Partial<MailsteadOptions> = {}): { client: Mailstead; sent: Sent[] } {
  const sent: Sent[] = []
  const serve = (url: string, init: RequestInit): Promise<Response> => {
    sent.push({ url, method: init.method ?? '', headers: new Headers(init.headers), body: init.body })
    const [status, body, headers] = replies[Math.min(sent.length, replies.length) - 1] ?? fine
    const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
    const type = typeof body === 'string' ? 'text/html' : 'application/json'
    return Promise.resolve(new Response(text, { status, headers: { 'content-type': type, ...headers } }))
  }
  return {
    client: new Mailstead({ baseUrl: 'https://mail.example/', apiKey: 'k', fetch: serve as typeof fetch, ...options }),
    sent,
  }
}

async function errorOf(work: Promise<unknown>): Promise<MailsteadError> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof MailsteadError)
  return error
}

describe('the TypeScript client', () => {
  it('sends the key, JSON, and an Idempotency-Key of its own or the one given', async () => {
    const { client, sent } = play([fine])
    await client.sendInstant({ body: BODY })
    await client.sendInstant({ body: BODY }, { idempotencyKey: 'order-1' })
    assert.deepEqual(
      [
        sent[0]?.url,
        sent[0]?.method,
        sent[0]?.headers.get('authorization'),
        sent[0]?.headers.get('content-type'),
        sent[0]?.body,
      ],
      ['https://mail.example/api/v1/send-email/instant', 'POST', 'Bearer k', 'application/json', JSON.stringify(BODY)],
    )
    assert.match(sent[0]?.headers.get('idempotency-key') ?? '', /^[0-9a-f-]{36}$/)
    assert.strictEqual(sent[1]?.headers.get('idempotency-key'), 'order-1')
  })
  it('fills path and query, leaves out what is not given', async () => {
    const { client, sent } = play([fine])
    await client.cancelScheduled({ params: { id: 'a/b ?' } })
    await client.listScheduled({ query: { page: 2 } })
    await client.listScheduled()
    await client.getEmail({ query: { id: 'em_1&x' } })
    assert.deepEqual(
      sent.map(({ method, url }) => `${method} ${url.slice('https://mail.example/api/v1'.length)}`),
      [
        'DELETE /send-email/schedule/a%2Fb%20%3F',
        'GET /send-email/scheduled?page=2',
        'GET /send-email/scheduled',
        'GET /public/emails/get-email?id=em_1%26x',
      ],
    )
    assert.strictEqual(sent[0]?.headers.get('idempotency-key'), null)
  })
  it('answers nothing for 204', async () => {
    const { client } = play([[204, undefined]])
    assert.strictEqual(await client.deleteWebhook({ params: { id: 'x' } }), undefined)
  })

  const tries: readonly (readonly [string, Reply, (client: Mailstead) => Promise<unknown>, number])[] = [
    ['503 to a send, under the same key', away, (client) => client.sendInstant({ body: BODY }), 3],
    ['503 to a read', away, (client) => client.verifyKey(), 3],
    ['503 to a deletion', away, (client) => client.deleteWebhook({ params: { id: 'x' } }), 3],
    ['503 to a creation is not tried again: it may be done', away, (client) => client.createWebhook({ body: HOOK }), 1],
    ['429 to anything: it is not done', tooMany, (client) => client.createWebhook({ body: HOOK }), 3],
    [
      'a twin under way',
      [409, { success: false, error: 'IDEMPOTENCY_IN_PROGRESS', message: '' }, { 'retry-after': '0' }],
      (client) => client.sendInstant({ body: BODY }),
      3,
    ],
    [
      'a conflict is final',
      [409, { success: false, error: 'CONFLICT', message: '' }, { 'retry-after': '0' }],
      (client) => client.verifyKey(),
      1,
    ],
    [
      'a wait over the bound is not waited',
      [429, { success: false, error: 'RATE_LIMITED', message: '' }, { 'retry-after': '31' }],
      (client) => client.verifyKey(),
      1,
    ],
    [
      '500 is not tried again',
      [500, { success: false, error: 'INTERNAL_ERROR', message: '' }],
      (client) => client.verifyKey(),
      1,
    ],
  ]
  for (const [name, reply, ask, count] of tries) {
    it(`${name}: ${count}`, async () => {
      const { client, sent } = play([reply])
      assert.strictEqual((await errorOf(ask(client))).status, reply[0])
      assert.strictEqual(sent.length, count)
      assert.strictEqual(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size, 1)
    })
  }
  it('goes on when a later try succeeds, and tries as often as told', async () => {
    const { client, sent } = play([away, tooMany, fine])
    assert.strictEqual((await client.sendInstant({ body: BODY })).success, true)
    assert.strictEqual(sent.length, 3)
    const once = play([away], { retries: 0 })
    await errorOf(once.client.verifyKey())
    assert.strictEqual(once.sent.length, 1)
  })
  it('stops waiting when its signal is aborted', async () => {
    const { client, sent } = play([
      [429, { success: false, error: 'RATE_LIMITED', message: '' }, { 'retry-after': '30' }],
    ])
    const stop = new AbortController()
    const waiting = client.verifyKey({ signal: stop.signal })
    setTimeout(() => stop.abort(new Error('enough')), 20)
    await assert.isRejected(waiting, /enough/)
    assert.strictEqual(sent.length, 1)
  })
  it('tells all that an error says', async () => {
    const details = [{ path: 'to', message: 'is required' }]
    const place = { doc_url: 'https://mail.example/docs/errors#VALIDATION_ERROR', request_id: 'r1' }
    const reply = { success: false, error: 'VALIDATION_ERROR', message: 'to: is required', details, ...place }
    const { client } = play([[400, reply, { 'x-request-id': 'r1' }]])
    const error = await errorOf(client.verifyKey())
    assert.deepEqual(
      [error.name, error.status, error.code, error.message, error.details, error.retryAfter],
      ['MailsteadError', 400, 'VALIDATION_ERROR', 'to: is required', details, null],
    )
    assert.deepEqual([error.requestId, error.docUrl], ['r1', place.doc_url])
  })
  it('makes an error of what a proxy answers', async () => {
    const { client } = play([[502, '<html>Bad Gateway</html>']])
    const { status, code, message } = await errorOf(client.verifyKey())
    assert.deepEqual([status, code, message], [502, 'UNKNOWN', 'The server returned status 502.'])
  })
})
