/** Attachments that are fetched when a message is accepted: once, before it is stored, and never for a repetition. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

describe('attachments by URL', () => {
  let api: TestApi
  let server: Server
  let files = ''
  const asked: string[] = []
  let isGone = false
  before(async () => {
    server = createServer((req, res) => {
      asked.push(req.url ?? '')
      if (isGone) res.writeHead(410).end()
      else if (req.url === '/large') res.end('x'.repeat(70_000))
      else res.setHeader('content-type', 'image/png').end('content')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    files = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    api = await startApi({ ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', MAX_MESSAGE_BYTES: '65536' })
  })
  after(async () => {
    await api.stop()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  beforeEach(() => {
    asked.length = 0
    isGone = false
  })

  const message = (...attachments: object[]): object => ({
    from: `me@${api.domain}`,
    to: 'a@b.example',
    subject: 's',
    body: 'x',
    attachments,
  })
  const send = (body: unknown, headers = {}): Promise<TestResponse> =>
    api.call('POST', '/send-email/instant', { body, headers })
  async function storedWith(id: string): Promise<string[]> {
    const { rows } = await api.db.query<{ filename: string; type: string; content: Buffer }>(
      sql`
        SELECT filename, content_type AS type, content
        FROM attachments
        WHERE message_id = $1::uuid
        ORDER BY n
      `,
      [id.slice(3)],
    )
    return rows.map(({ filename, type, content }) => `${filename} ${type} ${content.toString()}`)
  }

  it('are stored with the message, beside others', async () => {
    const given = [
      { url: `${files}/logo.png?v=1`, content_id: 'logo' },
      { filename: 'a.txt', content: 'YQ==' },
    ]
    const { status, body } = await send(message(...given, { path: `${files}/logo.png?v=1`, filename: 'again.bin' }))
    assert.strictEqual(status, 200)
    assert.deepEqual(await storedWith(textOf(body['email_id'])), [
      'logo.png image/png content',
      'a.txt text/plain a',
      'again.bin image/png content',
    ])
    assert.deepEqual(asked, ['/logo.png?v=1'])
  })
  it('are not fetched again for a repeated request, even if they are gone', async () => {
    const headers = { 'idempotency-key': 'with a URL' }
    const first = await send(message({ url: `${files}/a` }), headers)
    isGone = true
    const second = await send(message({ url: `${files}/a` }), headers)
    assert.deepEqual([second.body, second.headers.get('idempotent-replayed')], [first.body, 'true'])
    assert.deepEqual(asked, ['/a'])
    const other = await send(message({ url: `${files}/b` }), headers)
    assert.deepEqual([other.status, other.body['error'], asked], [409, 'IDEMPOTENCY_MISMATCH', ['/a']])
  })
  it('are not fetched for a message that is refused anyway', async () => {
    const { status } = await send({ ...message({ url: `${files}/a` }), from: 'me@other.example' })
    assert.deepEqual([status, asked], [403, []])
  })

  const REFUSED: readonly (readonly [url: () => string, status: number, error: string, path: string, why: RegExp])[] = [
    [() => `${files}/gone`, 400, 'VALIDATION_ERROR', 'attachments.0.url', /answered 410, not 200/],
    [() => 'http://10.0.0.1/a', 400, 'VALIDATION_ERROR', 'attachments.0.url', /not found, or is not allowed/],
    [() => 'http://127.0.0.1:1/a', 400, 'VALIDATION_ERROR', 'attachments.0.url', /accepts no connection/],
    [() => `${files}/large`, 413, 'PAYLOAD_TOO_LARGE', '', /attachments\.0\.url: the file has more than 65536 bytes/],
  ]
  for (const [url, status, error, path, why] of REFUSED)
    it(`${error} when ${why.source}`, async () => {
      isGone = why.source.includes('410')
      const before = await countMessages()
      const { status: got, body } = await send(message({ url: url() }))
      assert.deepEqual([got, body['error'], body['details']?.['0']?.['path'] ?? ''], [status, error, path])
      assert.match(textOf(body['message']), why)
      assert.strictEqual(await countMessages(), before)
    })
  async function countMessages(): Promise<number> {
    return Number((await api.db.query<{ n: number }>('SELECT count(*) AS n FROM messages')).rows[0]?.n)
  }

  it('are fetched once for all messages of a batch; each message is refused on its own', async () => {
    const { body } = await api.call('POST', '/send-email/batch', {
      body: [message({ url: `${files}/a` }), message({ url: 'http://127.0.0.1:1/' }), message({ url: `${files}/a` })],
    })
    const results = listOf(body['data']?.['results'])
    assert.deepEqual(
      results.map((one) => one['error'] ?? one['status']),
      ['queued', 'VALIDATION_ERROR', 'queued'],
    )
    assert.deepEqual(asked, ['/a'])
  })
})
