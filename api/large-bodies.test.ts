import { randomBytes } from 'node:crypto'
import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { listOf, startApi, textOf, type TestApi } from '#test/support/api.ts'
import type { LargeBodyReader } from '#api/http/request-reader.ts'
import { createLargeBodyReader } from './large-bodies.ts'
import { parseBody } from '#api/http/request-reader.ts'
import { ROUTES } from './table.ts'

const MB = 1024 * 1024

const message = (replaced: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  to: ['Ada <a@b.example>'],
  from: 'x@y.example',
  subject: 's',
  text: 't',
  expires_at: '2031-05-04T10:00:00Z',
  metadata: { a: null, b: 1 },
  ...replaced,
})
const attachment = (bytes: number): object => ({ filename: 'a.bin', content: randomBytes(bytes).toString('base64') })

const CASES: readonly (readonly [name: string, route: string, body: unknown])[] = [
  ['a large attachment', 'send-instant', message({ attachments: [attachment(MB), attachment(3)] })],
  ['a long text of all kinds of characters', 'send-instant', message({ html: '<p>ża "b" \\ 🎉\n</p>'.repeat(50_000) })],
  ['what the schema refuses', 'send-instant', message({ text: 'x'.repeat(MB), to: 'nobody', tags: [1], reply_to: 7 })],
  [
    'a batch with a bad message',
    'send-batch',
    { messages: [message(), message({ to: 5 }), 'no', message({ text: 'x'.repeat(100_000) })] },
  ],
  [
    'a scheduled message',
    'schedule-email',
    { email: message({ attachments: [attachment(MB)] }), scheduled_at: '2031-05-04_10:00:00', timezone: 'Asia/Tokyo' },
  ],
]
const BROKEN: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['no JSON', Buffer.from(`{"to":"${'x'.repeat(MB)}`)],
  ['no UTF-8', Buffer.from([...Buffer.from('{"to":"'), 0xff])],
  ['a key twice', Buffer.from('{"to":1,"to":2}')],
]

describe('large bodies', () => {
  let large: LargeBodyReader
  before(() => {
    large = createLargeBodyReader(openLog({ logLevel: 'silent' }, 'test'))
  })
  after(() => large.stop())

  const compare = async (route: string, bytes: Buffer): Promise<void> => {
    const schema = ROUTES.find(({ name }) => name === route)?.body
    assert.ok(schema, route)
    const here = parseBody(schema, Buffer.from(bytes), 'json')
    const own = Buffer.from(new Uint8Array(bytes).buffer)
    assert.deepEqual(await large.read(route, own, 'json'), { ok: true, parsed: here })
    assert.strictEqual(own.length, 0, 'the bytes were copied')
  }
  for (const [name, route, body] of CASES)
    it(`${name} is parsed in the thread as in the main thread`, () => compare(route, Buffer.from(JSON.stringify(body))))
  for (const [name, bytes] of BROKEN)
    it(`${name} is refused in the thread as in the main thread`, () => compare('send-instant', bytes))

  it('when the thread dies, the request of its body gets 503, and the next ones are parsed', async () => {
    const mortal = createLargeBodyReader(openLog({ logLevel: 'silent' }, 'test'))
    const bytes = (): Buffer => Buffer.from(new Uint8Array(Buffer.from(JSON.stringify(message()))).buffer)
    const answers = await Promise.all([
      mortal.read('no-such-route', bytes(), 'json'),
      mortal.read('send-instant', bytes(), 'json'),
    ])
    assert.deepEqual(
      answers.map((answer) => (answer.ok ? 'parsed' : answer.refusal.error)),
      ['SERVICE_UNAVAILABLE', 'parsed'],
    )
    assert.strictEqual((await mortal.read('send-instant', bytes(), 'json')).ok, true)
    await mortal.stop()
  })
})

describe('large bodies whose client has gone', () => {
  it('are not parsed, nor moved to the thread', async () => {
    const large = createLargeBodyReader(openLog({ logLevel: 'silent' }, 'test'))
    const bytes = (): Buffer => Buffer.from(new Uint8Array(Buffer.from(JSON.stringify(message()))).buffer)
    const [dropped, moved] = [bytes(), bytes()]
    let isGone = false
    const reads = [
      large.read('send-instant', bytes(), 'json'),
      large.read('send-instant', dropped, 'json', () => isGone),
      large.read('send-instant', moved, 'json', () => !isGone),
    ]
    isGone = true
    const results = await Promise.all(reads)
    assert.deepEqual(
      results.map(({ ok }) => ok),
      [true, false, true],
    )
    assert.deepEqual([dropped.length > 0, moved.length], [true, 0])
    await large.stop()
  })
})

describe('large bodies over HTTP', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  it('are stored byte for byte, and replayed under their key', async () => {
    const content = randomBytes(2 * MB)
    const html = '<p>ża "b" \\ 🎉\n</p>'.repeat(20_000)
    const body = message({
      from: `x@${api.domain}`,
      html,
      text: 'short',
      attachments: [{ filename: 'a.bin', content: content.toString('base64') }],
    })
    const call = { body, headers: { 'idempotency-key': 'large' } }
    const first = await api.call('POST', '/send-email/instant', call)
    const second = await api.call('POST', '/send-email/instant', call)
    assert.deepEqual([first.status, second.headers.get('idempotent-replayed')], [200, 'true'])
    assert.deepEqual(second.body, first.body)
    const { rows } = await api.db.query(
      'SELECT html, body_text, content FROM message_bodies JOIN attachments USING (message_id)',
    )
    assert.strictEqual(rows.length, 1)
    assert.deepEqual([rows[0]?.['html'], rows[0]?.['body_text']], [html, 'short'])
    assert.ok(content.equals(rows[0]?.['content'] as Buffer))
  })

  it('of a batch are accepted or refused one by one', async () => {
    const from = `x@${api.domain}`
    const messages = Array.from({ length: 100 }, (_, i) =>
      message({ from, to: i % 10 === 3 ? 'nobody' : `r${i}@b.example`, text: 'x'.repeat(5000) }),
    )
    const { status, body } = await api.call('POST', '/send-email/batch', { body: { messages } })
    assert.strictEqual(status, 200)
    const refused = listOf(body['data']?.['results']).filter((result) => 'error' in result)
    assert.deepEqual(
      refused.map(({ index, error }) => [index, error]),
      [3, 13, 23, 33, 43, 53, 63, 73, 83, 93].map((i) => [i, 'VALIDATION_ERROR']),
    )
  })

  it('of very many keys or values are refused with a short list of errors', async () => {
    const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, []]))
    const values = Array.from({ length: 20_000 }, () => 1)
    const few = Array.from({ length: 5100 }, () => 1)
    for (const [body, reason] of [
      [message({ tags: few }), /tags/],
      [`email${',x'.repeat(5100)}`, /not valid JSON/],
      [message({ metadata: keys }), /more than 2000 keys/],
      [message({ tags: values, to: values }), /./],
    ] as const) {
      const refused = await api.call('POST', '/send-email/instant', { body })
      assert.strictEqual(refused.status, 400)
      assert.match(textOf(refused.body['message']), reason)
      assert.isAtMost(listOf(refused.body['details']).length, 50)
    }
  })

  it('are refused with the same errors as small ones', async () => {
    const answers = await Promise.all(
      ['x', 'x'.repeat(MB)].map((text) =>
        api.call('POST', '/send-email/instant', { body: message({ text, to: 5, subject: 'a\nb' }) }),
      ),
    )
    assert.strictEqual(answers[0]?.status, 400)
    assert.match(textOf(answers[0].body['message']), /to/)
    const errors = answers.map(({ body }) => ({ ...body, request_id: undefined }))
    assert.deepEqual(errors[1], errors[0])
  })
})
