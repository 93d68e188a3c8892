import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import { startApi, type TestApi } from '#test/support/api.ts'

/** Malformed bodies of a send. property-*.test.ts tests every route with arbitrary requests. */
describe('hostile requests', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

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

  const GZIP = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
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
    [
      'NUL in metadata',
      () => valid().replace('{', '{"metadata":{"a\\u0000":"b"},'),
      undefined,
      400,
      'VALIDATION_ERROR',
    ],
    ['half a surrogate pair', () => valid().replace('"s"', '"\\ud800"'), undefined, 400, 'VALIDATION_ERROR'],
    [
      'bytes that are not UTF-8',
      () => Buffer.from(valid().replace('"s"', '"\xff\xfe"'), 'latin1'),
      undefined,
      400,
      'VALIDATION_ERROR',
    ],
    ['UTF-16', () => Buffer.from(valid(), 'utf16le'), undefined, 400, 'VALIDATION_ERROR'],
    [
      'a form',
      () => 'to=a@b.example&subject=s',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['plain text', valid, { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['multipart', () => '--x--', { 'content-type': 'multipart/form-data; boundary=x' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [
      'another charset',
      valid,
      { 'content-type': 'application/json; charset=iso-8859-1' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['gzip that is none', valid, GZIP, 400, 'VALIDATION_ERROR'],
    ['gzip that is cut', () => gzipSync(valid()).subarray(0, -9), GZIP, 400, 'VALIDATION_ERROR'],
    ['gzip in gzip', () => gzipSync(gzipSync(valid())), GZIP, 400, 'VALIDATION_ERROR'],
    [
      'gzip that expands to more than the limit',
      () => gzipSync(Buffer.alloc(37_000_000)),
      GZIP,
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    ['another compression', valid, { ...GZIP, 'content-encoding': 'br' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['two compressions', valid, { ...GZIP, 'content-encoding': 'gzip, gzip' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
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
    it(`${why}: ${status} ${code}, and nothing is stored`, async () => {
      const before = await stored()
      const answer = await raw(text(), headers)
      const result = (await answer.json()) as { success: boolean; error: string }
      assert.deepEqual([answer.status, result.success, result.error], [status, false, code], JSON.stringify(result))
      assert.strictEqual(await stored(), before)
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
    it(`${type} is JSON`, async () => assert.strictEqual((await raw(valid(), { 'content-type': type })).status, 200))
  for (const coding of ['gzip', 'GZIP', 'x-gzip'])
    it(`a body with the Content-Encoding ${coding} is decompressed`, async () => {
      const answer = await raw(gzipSync(valid()), { ...GZIP, 'content-encoding': coding })
      assert.strictEqual(answer.status, 200)
    })
  it('a large compressed body is decompressed and parsed', async () => {
    const large = valid().replace('"x"', `"${'x'.repeat(1_000_000)}"`)
    assert.strictEqual((await raw(gzipSync(large), GZIP)).status, 200)
  })
  it('a body with a byte order mark is read', async () =>
    assert.strictEqual((await raw(`\ufeff${valid()}`)).status, 200))
  it('a missing Content-Type means JSON', async () => {
    const answer = await raw(Buffer.from(valid()), {})
    assert.strictEqual(answer.status, 200)
  })
  it('25 MB of attachments are accepted, one byte more is 413', async () => {
    const withBytes = (n: number): string =>
      valid().replace(
        '{',
        `{"attachments":[{"filename":"a.bin","content":"${Buffer.alloc(n, 1).toString('base64')}"}],`,
      )
    assert.strictEqual((await raw(withBytes(26_214_400 - 1))).status, 200)
    assert.strictEqual((await raw(withBytes(26_214_400))).status, 413)
  })
})
