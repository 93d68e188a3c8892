import assert from 'node:assert/strict'
import fc from 'fast-check'
import { startApi, type TestAnswer, type TestApi } from '#test/support/api.ts'
import { pathsOf } from './route.ts'
import { ROUTES } from './table.ts'

/** Values that break things, beside those that fast-check makes. */
const NASTY: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1e308,
  true,
  [],
  {},
  '\0',
  '\ud800',
  '\uFFFE',
  '\u202e',
  "'; DROP TABLE messages; --",
  '{{name}}',
  '../../etc/passwd',
  'a@b.example\r\nBcc: c@d.example',
  '=?utf-8?q?x?=',
  '%00%0d%0a',
  '\u0000'.repeat(10),
  'x'.repeat(20_000),
  Array.from({ length: 120 }, (_, i) => `a${i}@b.example`),
  { email: { email: 'a@b.example' } },
  { length: 5 },
  { toString: 1 },
  { constructor: { prototype: {} } },
  [[[[[]]]]],
  '2026-13-45',
  '+275760-09-14T00:00:00Z',
  '9999-12-31_23:59:59',
]
const FIELDS = [
  'to',
  'cc',
  'bcc',
  'from',
  'from_name',
  'reply_to',
  'subject',
  'body',
  'html',
  'text',
  'is_html',
  'template_id',
  'params',
  'template_data',
  'attachments',
  'headers',
  'tags',
  'metadata',
  'track_opens',
  'expires_at',
  'scheduled_at',
  'timezone',
  'priority',
  'email',
  'messages',
  'tier',
  'name',
  'description',
  'category',
  'id',
  'url',
  'events',
  'event_types',
]

describe('hostile requests', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const value = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
    { weight: 1, arbitrary: fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  )
  const body = fc.dictionary(fc.constantFrom(...FIELDS), value, { minKeys: 1, maxKeys: 8 })

  /** A fault of ours never comes from input, and what is refused is refused in our shape. */
  function judge({ status, body: answer }: TestAnswer, what: string): void {
    assert.ok(status < 500, `${what}: ${status} ${JSON.stringify(answer)}`)
    if (status < 400) return
    assert.deepEqual([answer?.['success'], typeof answer?.['error'], typeof answer?.['message']], [false, 'string', 'string'], what)
    assert.ok(!/\n\s*at |\.ts:\d|node_modules|SELECT|syntax error at/.test(JSON.stringify(answer['message'])), JSON.stringify(answer))
  }

  for (const spec of ROUTES.filter((one) => one.body !== undefined)) {
    it(`${spec.method} ${spec.paths[0]} survives any body`, async () => {
      const path = `/${(pathsOf(spec)[0] ?? '').replace(/:\w+/g, 'x')}`
      const key = typeof spec.access === 'object' ? api.admin : api.regular
      await fc.assert(
        fc.asyncProperty(body, async (given) => {
          const valid = { from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' }
          judge(await api.call(spec.method, path, { key, body: given }), JSON.stringify(given))
          judge(await api.call(spec.method, path, { key, body: { ...valid, ...given } }), `valid and ${JSON.stringify(given)}`)
        }),
        { numRuns: 60 },
      )
    }).timeout(120_000)
  }

  for (const spec of ROUTES) {
    it(`${spec.method} ${spec.paths[0]} survives any query, path and headers`, async () => {
      const key = typeof spec.access === 'object' ? api.admin : api.regular
      const text = fc.oneof(
        fc.string({ unit: 'binary', maxLength: 50 }).map((one) => encodeURIComponent(one.toWellFormed())),
        fc.constantFrom(
          '%00',
          '%ff',
          '%ED%A0%80',
          '..%2f..',
          '%',
          '%u0041',
          "'",
          'null',
          '-1',
          '1e9',
          '00000000-0000-0000-0000-000000000000',
        ),
      )
      await fc.assert(
        fc.asyncProperty(text, text, async (one, two) => {
          const path = `/${(pathsOf(spec)[0] ?? '').replace(/:\w+/g, one === '' || one.startsWith('.') ? 'x' : one)}`
          const query = `?id=${two}&page=${one}&limit=${two}&id=${one}&__proto__=${two}&constructor[prototype]=${one}`
          const withBody = spec.method === 'GET' || spec.method === 'DELETE' ? {} : { body: {} }
          judge(
            await api.call(spec.method, `${path}${query}`, {
              key,
              ...withBody,
              headers: { 'idempotency-key': one, 'x-request-id': two, accept: one },
            }),
            `${path}${query}`,
          )
        }),
        { numRuns: 25 },
      )
    }).timeout(60_000)
  }

  const valid = (): string => JSON.stringify({ from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' })
  const raw = (
    text: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Promise<Response> =>
    fetch(`${api.url}/api/v1/send-email/instant`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.regular}`, ...headers },
      body: text,
    })
  async function stored(): Promise<number> {
    const {
      rows: [row],
    } = await api.db.query<{ n: number }>('SELECT count(*) AS n FROM messages')
    return row?.n ?? 0
  }

  const BROKEN: readonly (readonly [
    why: string,
    text: () => string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> | undefined,
    status: number,
    code: string,
  ])[] = [
    ['no JSON', () => '{"to":', undefined, 400, 'VALIDATION_ERROR'],
    ['a text', () => '"hello"', undefined, 400, 'VALIDATION_ERROR'],
    ['null', () => 'null', undefined, 400, 'VALIDATION_ERROR'],
    ['a list', () => '[]', undefined, 400, 'VALIDATION_ERROR'],
    ['100,000 brackets', () => '['.repeat(100_000), undefined, 400, 'VALIDATION_ERROR'],
    [
      '100,000 brackets in params',
      () => valid().replace('{', `{"params":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)},`),
      undefined,
      400,
      'VALIDATION_ERROR',
    ],
    ['a key twice', () => valid().replace('{', '{"to":"c@d.example",'), undefined, 400, 'VALIDATION_ERROR'],
    ['__proto__', () => valid().replace('{', '{"__proto__":{"to":"c@d.example"},'), undefined, 400, 'VALIDATION_ERROR'],
    ['NUL in a text', () => valid().replace('"s"', '"s\\u0000"'), undefined, 400, 'VALIDATION_ERROR'],
    ['NUL in metadata', () => valid().replace('{', '{"metadata":{"a\\u0000":"b"},'), undefined, 400, 'VALIDATION_ERROR'],
    ['half a surrogate pair', () => valid().replace('"s"', '"\\ud800"'), undefined, 400, 'VALIDATION_ERROR'],
    ['bytes that are not UTF-8', () => Buffer.from(valid().replace('"s"', '"\xff\xfe"'), 'latin1'), undefined, 400, 'VALIDATION_ERROR'],
    ['UTF-16', () => Buffer.from(valid(), 'utf16le'), undefined, 400, 'VALIDATION_ERROR'],
    ['a form', () => 'to=a@b.example&subject=s', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['plain text', valid, { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['multipart', () => '--x--', { 'content-type': 'multipart/form-data; boundary=x' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['another charset', valid, { 'content-type': 'application/json; charset=iso-8859-1' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['compressed', valid, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['larger than the limit', () => Buffer.alloc(37_000_000, ' '), undefined, 413, 'PAYLOAD_TOO_LARGE'],
    [
      'a message larger than the limit, inside a body that is not',
      () => valid().replace('"x"', `"${'x'.repeat(27_000_000)}"`),
      undefined,
      413,
      'PAYLOAD_TOO_LARGE',
    ],
  ]
  for (const [why, text, headers, status, code] of BROKEN) {
    it(`${why}: ${status} ${code}, nothing stored`, async () => {
      const before = await stored()
      const answer = await raw(text(), headers)
      const told = (await answer.json()) as { success: boolean; error: string }
      assert.deepEqual([answer.status, told.success, told.error], [status, false, code], JSON.stringify(told))
      assert.equal(await stored(), before)
    })
  }
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'APPLICATION/JSON',
    'application/vnd.api+json',
    'application/json; odata=verbose',
  ])
    it(`${type} is JSON`, async () => assert.equal((await raw(valid(), { 'content-type': type })).status, 200))
  it('a body with a byte order mark is read', async () => assert.equal((await raw(`\ufeff${valid()}`)).status, 200))
  it('no Content-Type at all is taken for JSON', async () => {
    const answer = await raw(Buffer.from(valid()), {})
    assert.equal(answer.status, 200)
  })
  it('25 MB of attachments are accepted, one byte more is 413', async () => {
    const withBytes = (n: number): string =>
      valid().replace('{', `{"attachments":[{"filename":"a.bin","content":"${Buffer.alloc(n, 1).toString('base64')}"}],`)
    assert.equal((await raw(withBytes(26_214_400 - 1))).status, 200)
    assert.equal((await raw(withBytes(26_214_400))).status, 413)
  }).timeout(60_000)
})
