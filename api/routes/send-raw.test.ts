/** Sending complete messages: the forms of the request, what is stored of them, and what is refused. */
import { randomBytes } from 'node:crypto'
import { assert } from 'chai'
import { messageIdOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, textOf, type TestApi, type TestCall, type TestResponse } from '#test/support/api.ts'

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString()
const DAY_MS = 24 * 3600_000

interface StoredRaw {
  readonly raw: Buffer
  readonly subject: string
  readonly tier: string
  readonly tags: string[] | null
  readonly metadata: unknown
  readonly submitted: object | null
  readonly opens: boolean | null
  readonly clicks: boolean | null
  readonly scheduled: Date | null
  readonly recipients: string[]
}

describe('sending a complete message', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ MAX_MESSAGE_BYTES: '2000000', MAX_RECIPIENTS: '5' })
  })
  after(() => api.stop())

  /** `headers` end in CRLF. */
  const mail = (headers = 'To: a@b.example\r\n', body: string | Buffer = 'Hello\r\n'): Buffer =>
    Buffer.concat([Buffer.from(`From: Shop <me@${api.domain}>\r\nSubject: Hi\r\n${headers}\r\n`), Buffer.from(body)])
  const sendJson = (raw: Buffer | string, fields: object = {}, call: TestCall = {}): Promise<TestResponse> =>
    api.call('POST', '/send-email/raw', { body: { raw: Buffer.from(raw).toString('base64'), ...fields }, ...call })
  const sendOctets = (raw: Buffer, query = '', call: TestCall = {}): Promise<TestResponse> =>
    api.call('POST', `/send-email/raw${query}`, {
      body: raw,
      ...call,
      headers: { 'content-type': 'message/rfc822', ...call.headers },
    })
  const sent = ({ status, body }: TestResponse): string => {
    assert.strictEqual(status, 200, JSON.stringify(body))
    return textOf(body['email_id'])
  }
  async function stored(answer: TestResponse): Promise<StoredRaw> {
    const { rows } = await api.db.query<StoredRaw>(
      sql`
        SELECT b.raw, m.subject, m.tier, m.tags, m.metadata, m.submitted, m.track_opens AS opens,
          m.track_clicks AS clicks, m.scheduled_at AS scheduled,
          (
            SELECT array_agg(r.kind || ' ' || r.address ORDER BY r.n)
            FROM recipients r
            WHERE r.message_id = m.id
          ) AS recipients
        FROM messages m
        JOIN message_bodies b ON b.message_id = m.id
        WHERE m.id = $1
      `,
      [messageIdOf(sent(answer))],
    )
    return rows[0] ?? assert.fail('not stored')
  }
  const refused = ({ status, body }: TestResponse): unknown[] => [status, body['error'], body['message']]

  for (const [form, send] of [
    ['JSON', (raw: Buffer) => sendJson(raw, { to: 'x@b.example', from: 'bounces@else.example' })],
    ['message/rfc822', (raw: Buffer) => sendOctets(raw, '?to=x@b.example&from=bounces@else.example')],
  ] as const)
    it(`${form}: is stored octet for octet, with the documented fields added and Bcc removed`, async () => {
      const body = Buffer.from('Gr\xfc\xdfe\r\n..\r\n', 'latin1')
      const row = await stored(await send(mail('To: a@b.example\r\nBcc: secret@b.example\r\nX-Odd :  y\r\n', body)))
      assert.match(
        row.raw.toString('latin1'),
        new RegExp(
          String.raw`^Received: by ${api.config.serverName} with HTTP id [0-9a-f]{32};\r\n\t.* \+0000\r\n` +
            String.raw`From: Shop <me@${api.domain}>\r\nSubject: Hi\r\nTo: a@b\.example\r\nX-Odd :  y\r\n` +
            String.raw`Date: .* \+0000\r\nMessage-ID: <[0-9a-f]{32}@${api.domain}>\r\n\r\nGr\xfc\xdfe\r\n\.\.\r\n$`,
        ),
      )
      assert.deepEqual(row.recipients, ['bcc x@b.example'])
      assert.deepEqual(row.submitted, { from: 'bounces@else.example', protocol: 'http' })
      assert.strictEqual(row.tier, 'normal')
    })
  it('without an envelope goes to To, Cc and Bcc, each address once', async () => {
    const row = await stored(
      await sendJson(
        mail('To: Team: "a, b" <a@b.example>, A@B.example;, x@b.example\r\nCc: d@b.example\r\nBCC: e@b.example\r\n'),
      ),
    )
    assert.deepEqual(row.recipients, ['to a@b.example', 'to x@b.example', 'cc d@b.example', 'bcc e@b.example'])
    assert.deepEqual(row.submitted, { from: `me@${api.domain}`, protocol: 'http' })
  })
  it('delivery reports go to an envelope sender of the own domain', async () => {
    const row = await stored(await sendJson(mail(), { from: `errors@${api.domain}` }))
    assert.deepEqual(row.submitted, {
      from: `errors@${api.domain}`,
      protocol: 'http',
      reportTo: `errors@${api.domain}`,
    })
  })
  it('options of the header apply, and those of the request take precedence; tags and metadata add up', async () => {
    const options =
      'To: a@b.example\r\nX-Priority-Tier: bulk\r\nX-Tag: one\r\nX-Metadata: a=1\r\nX-Track-Opens: yes\r\n'
    const first = await stored(await sendJson(mail(options)))
    assert.deepEqual([first.tier, first.tags, first.metadata, first.opens], ['bulk', ['one'], { a: '1' }, true])
    assert.notMatch(first.raw.toString(), /x-(?:tag|metadata|priority|track)/i)
    const second = await stored(
      await sendJson(mail(options), {
        tier: 'instant',
        tags: ['two'],
        metadata: { b: 2 },
        track_opens: false,
        track_clicks: true,
      }),
    )
    assert.deepEqual(
      [second.tier, second.tags, second.metadata, second.opens, second.clicks],
      ['instant', ['one', 'two'], { a: '1', b: 2 }, false, true],
    )
    assert.strictEqual((await stored(await sendOctets(mail(options), '?priority=high'))).tier, 'high')
  })
  it('get-email shows how it was submitted, and what was parsed', async () => {
    const id = sent(await sendJson(mail('To: Ann <a@b.example>\r\nCc: c@b.example\r\n')))
    const { body } = await api.call('GET', `/public/emails/get-email?id=${id}`)
    const { submission, subject, from, to, cc } = body['data'] as unknown as Record<string, unknown>
    assert.deepEqual([submission, subject, from, to, cc] as unknown[], [
      { protocol: 'http', mail_from: `me@${api.domain}` },
      'Hi',
      `me@${api.domain}`,
      ['a@b.example'],
      ['c@b.example'],
    ])
  })
  it('can be scheduled', async () => {
    const at = inMs(DAY_MS)
    const answer = await sendJson(mail(), { scheduled_at: at })
    assert.deepEqual([answer.body['status'], answer.body['scheduled_at']] as unknown[], ['scheduled', at])
    assert.strictEqual((await stored(answer)).scheduled?.toISOString(), at)
    const local = await sendOctets(mail(), '?scheduled_at=2031-05-05_09:00:00&timezone=Europe/Berlin')
    assert.strictEqual(local.status, 400)
    const free = await api.addTenant({ plan: 'free' })
    const fromFree = Buffer.from(`From: me@${free.domain}\r\nTo: a@b.example\r\n\r\nx`)
    const denied = await sendJson(fromFree, { scheduled_at: at }, { key: free.regular })
    assert.strictEqual(denied.body['error'] as unknown, 'PLAN_REQUIRED')
    assert.strictEqual((await sendJson(fromFree, {}, { key: free.regular })).status, 200)
  })
  it('is sent once with an idempotency key, in the request or in the message', async () => {
    for (const [key, call, field] of [
      ['in the request', { headers: { 'idempotency-key': 'raw-1' } }, ''],
      ['in the message', {}, 'X-Idempotency-Key: raw-2\r\n'],
    ] as const) {
      const first = sent(await sendJson(mail(`To: a@b.example\r\nMessage-ID: <1@x>\r\n${field}`), {}, call))
      const again = await sendJson(mail(`To: a@b.example\r\nMessage-ID: <2@x>\r\n${field}`), {}, call)
      assert.deepEqual([sent(again), again.headers.get('idempotent-replayed')], [first, 'true'], key)
      const other = await sendJson(mail(`To: a@b.example\r\n${field}`, 'another'), {}, call)
      assert.strictEqual(other.body['error'] as unknown, 'IDEMPOTENCY_MISMATCH', key)
      const elsewhere = await sendJson(mail(`To: a@b.example\r\n${field}`), { to: 'z@b.example' }, call)
      assert.strictEqual(elsewhere.body['error'] as unknown, 'IDEMPOTENCY_MISMATCH', key)
    }
  })
  it('counts in the quota, and a suppressed recipient gets nothing', async () => {
    const imported = await api.call('POST', '/public/suppressions/import', {
      key: api.admin,
      body: { emails: ['gone@b.example'] },
    })
    assert.strictEqual(imported.status, 200)
    const answer = await sendJson(mail('To: gone@b.example, a@b.example\r\n'))
    const before = Number((await sendJson(mail())).headers.get('x-quota-remaining'))
    const after = Number((await sendJson(mail('To: a@b.example, c@b.example\r\n'))).headers.get('x-quota-remaining'))
    assert.strictEqual(before - after, 2)
    const { rows } = await api.db.query('SELECT state FROM recipients WHERE message_id = $1 ORDER BY n', [
      messageIdOf(sent(answer)),
    ])
    assert.deepEqual(rows, [{ state: 'suppressed' }, { state: 'queued' }])
  })
  it('a large message is parsed outside of the event loop, in both forms', async () => {
    const body = randomBytes(1_500_000).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
    const message = mail('To: a@b.example\r\n', body)
    for (const answer of [await sendJson(message), await sendOctets(message)]) {
      const { raw } = await stored(answer)
      assert.ok(raw.subarray(raw.indexOf('\r\n\r\n') + 4).equals(Buffer.from(body)))
    }
  })

  const from = (): string => `From: me@${api.domain}\r\n`
  const REFUSED: readonly (readonly [
    what: string,
    send: () => Promise<TestResponse>,
    status: number,
    error: string,
    message: RegExp,
  ])[] = [
    [
      'no message',
      () => api.call('POST', '/send-email/raw', { body: {} }),
      400,
      'VALIDATION_ERROR',
      /^raw: is required/,
    ],
    ['no base64', () => api.call('POST', '/send-email/raw', { body: { raw: '§' } }), 400, 'VALIDATION_ERROR', /base64/],
    ['an empty body', () => sendOctets(Buffer.from('')), 400, 'VALIDATION_ERROR', /^raw: is (?:required|empty)/],
    ['bare LF', () => sendJson(`${from()}To: a@b.example\n\nx`), 400, 'VALIDATION_ERROR', /LF without CR.*unix2dos/],
    ['bare CR', () => sendJson(mail(undefined, 'a\rb')), 400, 'VALIDATION_ERROR', /CR without LF/],
    ['NUL', () => sendOctets(mail(undefined, 'a\0b')), 400, 'VALIDATION_ERROR', /NUL/],
    ['no From', () => sendJson('To: a@b.example\r\n\r\nx'), 400, 'VALIDATION_ERROR', /no From/],
    ['two From', () => sendJson(mail(`${from()}To: a@b.example\r\n`)), 400, 'VALIDATION_ERROR', /more than one From/],
    [
      'a foreign From',
      () => sendJson('From: x@else.example\r\nTo: a@b.example\r\n\r\n'),
      403,
      'FORBIDDEN',
      /sends for/,
    ],
    [
      'a foreign second author',
      () => sendJson(`From: me@${api.domain}, x@else.example\r\nTo: a@b.example\r\n\r\n`),
      403,
      'FORBIDDEN',
      /sends for/,
    ],
    ['no recipient', () => sendJson(mail('To: undisclosed-recipients:;\r\n')), 400, 'VALIDATION_ERROR', /^to: is req/],
    ['a damaged recipient', () => sendJson(mail('To: a@b.example, nobody\r\n')), 400, 'VALIDATION_ERROR', /in to/],
    ['a damaged envelope', () => sendJson(mail(), { to: ['nobody'] }), 400, 'VALIDATION_ERROR', /^to/],
    [
      'too many recipients',
      () => sendJson(mail(`To: ${[1, 2, 3, 4, 5, 6].map((n) => `a${n}@b.example`).join(', ')}\r\n`)),
      400,
      'VALIDATION_ERROR',
      /6 recipients; at most 5/,
    ],
    [
      'too many hops',
      () => sendJson(mail(`To: a@b.example\r\n${'Received: x\r\n'.repeat(101)}`)),
      400,
      'VALIDATION_ERROR',
      /loop/,
    ],
    [
      'a header of megabytes',
      () => sendOctets(Buffer.from(`${from()}X: ${'y'.repeat(900_000)}`)),
      400,
      'VALIDATION_ERROR',
      /header is too large/,
    ],
    [
      'an option without sense',
      () => sendJson(mail('To: a@b.example\r\nX-Priority-Tier: urgent\r\n')),
      400,
      'VALIDATION_ERROR',
      /x-priority-tier/,
    ],
    [
      'no template',
      () => sendJson(mail('To: a@b.example\r\nX-Template-Id: nope\r\n')),
      400,
      'INVALID_TEMPLATE',
      /no such template/,
    ],
    ['too much', () => sendOctets(mail(undefined, 'x'.repeat(3_000_000))), 413, 'PAYLOAD_TOO_LARGE', /larger than/],
    [
      'too much in JSON',
      () => sendJson(mail(undefined, 'x'.repeat(3_000_000))),
      413,
      'PAYLOAD_TOO_LARGE',
      /octets; at most/,
    ],
    ['an Admin key', () => sendJson(mail(), {}, { key: api.admin }), 403, 'FORBIDDEN', /Regular key/],
    ['a past time', () => sendJson(mail(), { scheduled_at: '2020-01-01T00:00:00Z' }), 400, 'VALIDATION_ERROR', /ahead/],
    [
      'an expiry in the past',
      () => sendJson(mail(), { expires_at: '2020-01-01T00:00:00Z' }),
      400,
      'VALIDATION_ERROR',
      /expires_at/,
    ],
    [
      'another type',
      () => sendOctets(mail(), '', { headers: { 'content-type': 'text/plain' } }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      /message\/rfc822/,
    ],
  ]
  for (const [what, send, status, error, message] of REFUSED)
    it(`refuses ${what}`, async () => {
      const answer = refused(await send())
      assert.deepEqual(answer.slice(0, 2), [status, error], JSON.stringify(answer))
      assert.match(String(answer[2]), message)
    })
})
