/** Who may send as whom, and requests that are refused, with nothing stored. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

describe('sending', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const from = (): string => `me@${api.domain}`
  const send = (fields: object, path = 'instant'): ReturnType<TestApi['call']> =>
    api.call('POST', `/send-email/${path}`, {
      body: { from: from(), to: ['a@b.example'], subject: 's', body: 'x', ...fields },
    })
  async function count(): Promise<number> {
    const {
      rows: [row],
    } = await api.db.query<{ n: number }>(sql`
      SELECT (SELECT count(*) FROM messages)
        + (SELECT count(*) FROM recipients)
        + (SELECT count(*) FROM idempotency_keys) AS n
    `)
    return row?.n ?? 0
  }

  const quotaOf = ({ headers }: TestResponse): (string | null)[] => [
    headers.get('x-quota-limit'),
    headers.get('x-quota-remaining'),
  ]

  describe('allowed senders', () => {
    it('an Admin key gets 403 FORBIDDEN', async () => {
      const { status, body } = await api.call('POST', '/send-email/instant', {
        key: api.admin,
        body: { from: from(), to: 'a@b.example', subject: 's', body: 'x' },
      })
      assert.deepEqual([status, body['error']], [403, 'FORBIDDEN'])
    })
    const OUTSIDE: readonly (readonly [why: string, from: () => unknown])[] = [
      ['another domain', () => 'me@other.example'],
      ['a subdomain', () => `me@mail.${api.domain}`],
      ['the parent', () => `me@${api.domain.split('.').slice(1).join('.')}.example`],
      ['a domain that ends alike', () => `me@x${api.domain}`],
      ['the domain as a local part', () => `"${api.domain}"@other.example`],
    ]
    for (const [why, sender] of OUTSIDE) {
      it(`${why} is 403 FORBIDDEN`, async () => {
        const { status, body } = await send({ from: sender() })
        assert.deepEqual([status, body['error']], [403, 'FORBIDDEN'])
      })
    }
    it('the domain is compared without case', async () =>
      assert.strictEqual((await send({ from: `Me@${api.domain.toUpperCase()}` })).status, 200))
    it('a missing from is 400 VALIDATION_ERROR', async () => {
      const { status, body } = await send({ from: undefined })
      assert.deepEqual([status, body['error'], body['details']?.['0']?.['path']], [400, 'VALIDATION_ERROR', 'from'])
    })
    for (const [domainStatus, expected] of [
      ['pending', 403],
      ['failed', 403],
      ['degraded', 200],
      ['verified', 200],
    ] as const) {
      it(`a domain that is ${domainStatus}: ${expected}`, async () => {
        const tenant = await api.addTenant({ status: domainStatus })
        const { status } = await api.call('POST', '/send-email/instant', {
          key: tenant.regular,
          body: { from: `me@${tenant.domain}`, to: 'a@b.example', subject: 's', body: 'x' },
        })
        assert.strictEqual(status, expected)
      })
    }
    it('over the quota: 429 RATE_LIMITED with the reason, the numbers and Retry-After; nothing stored', async () => {
      const tenant = await api.addTenant({ plan: 'free' })
      await api.db.query(
        sql`
          INSERT INTO usage (workspace_id, period, used)
          VALUES ($1, date_trunc('month', now() AT TIME ZONE 'UTC'), 999999)
        `,
        [tenant.workspaceId],
      )
      const body = { from: `me@${tenant.domain}`, to: ['a@b.example', 'c@b.example'], subject: 's', body: 'x' }
      const before = await count()
      const over = await api.call('POST', '/send-email/bulk', {
        key: tenant.regular,
        body,
        headers: { 'idempotency-key': 'q' },
      })
      assert.deepEqual([over.status, over.body['error'], over.body['reason']], [429, 'RATE_LIMITED', 'quota'])
      assert.match(
        textOf(over.body['message']),
        /^The plan free allows 1,000,000 recipients a month; 999999 are used, and this message has 2\./,
      )
      assert.ok(Number(over.headers.get('retry-after')) > 0)
      assert.deepEqual(quotaOf(over), ['1000000', '1'])
      assert.strictEqual(await count(), before)
      const last = await api.call('POST', '/send-email/bulk', {
        key: tenant.regular,
        body: { ...body, to: 'a@b.example' },
      })
      assert.deepEqual([last.status, ...quotaOf(last)], [200, '1000000', '0'])
      assert.ok(Number(last.headers.get('x-quota-reset')) * 1000 > Date.now())
    })
    it('every response to a send has the quota; a plan without one has no number', async () => {
      const tenant = await api.addTenant({ plan: 'enterprise' })
      const body = { from: `me@${tenant.domain}`, to: ['a@b.example'], subject: 's', body: 'x' }
      const sent = await api.call('POST', '/send-email/bulk', { key: tenant.regular, body })
      assert.deepEqual(quotaOf(sent), ['unlimited', 'unlimited'])
      assert.deepEqual(
        ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-quota-reset'].map((name) =>
          sent.headers.get(name),
        ),
        ['unlimited', 'unlimited', null, null],
      )
      const limitedTenant = await api.addTenant({ plan: 'free' })
      const message = { ...body, from: `me@${limitedTenant.domain}` }
      const key = limitedTenant.regular
      const batch = await api.call('POST', '/send-email/batch', { key, body: { messages: [message, message] } })
      assert.deepEqual(quotaOf(batch), ['1000000', '999998'])
      const headers = { 'idempotency-key': 'q' }
      for (const expected of ['999997', '999997'])
        assert.deepEqual(quotaOf(await api.call('POST', '/send-email/bulk', { key, body: message, headers })), [
          '1000000',
          expected,
        ])
    })
  })

  describe('invalid requests are refused, and nothing is stored', () => {
    const long = (n: number): string => 'x'.repeat(n)
    const REFUSED: readonly (readonly [why: string, fields: object, path: string])[] = [
      ['no recipient', { to: undefined }, 'to'],
      ['an empty list', { to: [] }, 'to'],
      ['an empty text', { to: '' }, 'to'],
      ['only commas', { to: ',,' }, 'to'],
      ['a number as recipient', { to: 5 }, 'to'],
      ['a boolean', { to: true }, 'to'],
      ['a list of lists', { to: [['a@b.example']] }, 'to.0'],
      ['null in a list', { to: [null] }, 'to.0'],
      ['no "@"', { to: 'nobody' }, 'to'],
      ['a list injected into an entry', { to: ['a@b.example, c@d.example'] }, 'to.0'],
      ['a list injected into an object', { to: [{ email: 'a@b.example,c@d.example' }] }, 'to.0.email'],
      ['CR LF in an address', { to: ['a@b.example\r\nBcc: c@d.example'] }, 'to.0'],
      ['LF in a name', { to: [{ email: 'a@b.example', name: 'x\ny' }] }, 'to.0'],
      ['an address in an address', { to: [{ email: 'a@b.example> , <c@d.example', name: 'x' }] }, 'to.0'],
      ['an over-long address', { to: `${long(65)}@b.example` }, 'to'],
      ['a bad cc', { cc: ['a@'] }, 'cc.0'],
      ['a bad bcc', { bcc: { name: 'x' } }, 'bcc.email'],
      ['a bad from', { from: 'me' }, 'from'],
      ['two senders', { from: 'a@b.example, c@d.example' }, 'from'],
      ['CR LF in from_name', { from_name: 'Me\r\nBcc: a@b.example' }, 'from_name'],
      ['from_name not a text', { from_name: 5 }, 'from_name'],
      ['a bad reply_to', { reply_to: 'x' }, 'reply_to'],
      ['no subject', { subject: undefined }, 'subject'],
      ['an empty subject', { subject: '' }, 'subject'],
      ['CR LF in the subject', { subject: 'a\r\nBcc: b@c.example' }, 'subject'],
      ['a subject without end', { subject: long(999) }, 'subject'],
      ['a subject that is a list', { subject: ['a'] }, 'subject'],
      ['no body', { body: undefined }, 'body'],
      ['an empty body', { body: '', html: '', text: '' }, 'body'],
      ['a body that is an object', { body: { html: 'x' } }, 'body'],
      ['two bodies', { body: '<p>a</p>', html: '<p>b</p>' }, 'html'],
      ['template_id with body', { template_id: '00000000-0000-7000-8000-000000000000' }, 'template_id'],
      ['template_id with html', { body: undefined, html: 'x', template_id: 'x' }, 'template_id'],
      ['template_id with text', { body: undefined, text: 'x', template_id: 'x' }, 'template_id'],
      ['params that are a list', { params: [] }, 'params'],
      ['is_html that is a text', { is_html: 'yes' }, 'is_html'],
      ['track_opens that is a number', { track_opens: 1 }, 'track_opens'],
      ['attachments that are an object', { attachments: {} }, 'attachments'],
      ['bad base64', { attachments: [{ filename: 'a', content: '*' }] }, 'attachments.0.content'],
      ['no content', { attachments: [{ filename: 'a' }] }, 'attachments.0.content'],
      ['too many attachments', { attachments: Array.from({ length: 101 }, () => ({ content: '' })) }, 'attachments'],
      [
        'a content type that ends its line',
        { attachments: [{ content: '', content_type: 'a/b\r\nX: y' }] },
        'attachments.0.content_type',
      ],
      ...[
        'From',
        'to',
        'CC',
        'Bcc',
        'Date',
        'Message-ID',
        'Received',
        'Return-Path',
        'DKIM-Signature',
        'Content-Type',
        'content-anything',
        'Subject',
        'Reply-To',
        'MIME-Version',
        'Resent-To',
      ].map((name) => [`the header ${name}`, { headers: { [name]: 'x' } }, `headers.${name}`] as const),
      ['a header name with a colon', { headers: { 'X:Y': 'x' } }, 'headers.X:Y'],
      ['with a space', { headers: { 'X Y': 'x' } }, 'headers.X Y'],
      ['not ASCII', { headers: { 'X-Ä': 'x' } }, 'headers.X-Ä'],
      ['empty', { headers: { '': 'x' } }, 'headers.'],
      ['a header value with CR LF', { headers: { 'X-A': 'a\r\nBcc: b@c.example' } }, 'headers.X-A'],
      ['with a bare LF', { headers: { 'X-A': 'a\nb' } }, 'headers.X-A'],
      ['over-long', { headers: { 'X-A': long(901) } }, 'headers.X-A'],
      [
        '101 headers',
        { headers: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`X-${i}`, 'x'])) },
        'headers',
      ],
      ['headers that are a text', { headers: 'X-A: b' }, 'headers'],
      ['tags with an object', { tags: [{}] }, 'tags'],
      ['51 tags', { tags: Array.from({ length: 51 }, () => 'x') }, 'tags'],
      ['metadata that is not flat', { metadata: { a: { b: 1 } } }, 'metadata.a'],
      ['metadata with a list', { metadata: { a: [] } }, 'metadata.a'],
      ['metadata that is a list', { metadata: [] }, 'metadata'],
      ['expires_at in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      ['expires_at that is no time', { expires_at: 'soon' }, 'expires_at'],
    ]
    for (const [why, fields, path] of REFUSED) {
      it(why, async () => {
        const before = await count()
        const { status, body } = await send(fields)
        assert.deepEqual(
          [status, body['success'], body['error'], typeof body['message']],
          [400, false, 'VALIDATION_ERROR', 'string'],
          JSON.stringify(body),
        )
        const details = body['details'] as unknown as { path: string; message: string }[]
        assert.ok(
          details.some((detail) => detail.path === path && detail.message !== ''),
          JSON.stringify(details),
        )
        assert.strictEqual(await count(), before)
      })
    }
    it('all problems are reported together, up to a limit', async () => {
      const { body } = await send({ to: Array.from({ length: 1000 }, () => 'x'), cc: ['y'] })
      assert.strictEqual(listOf(body['details']).length, 50)
    })
    it('an unknown template: 400 INVALID_TEMPLATE', async () => {
      for (const template_id of ['00000000-0000-7000-8000-000000000000', 'welcome', "'; DROP TABLE messages"]) {
        const { status, body } = await send({ body: undefined, template_id })
        assert.deepEqual([status, body['error']], [400, 'INVALID_TEMPLATE'])
      }
    })
  })
})
