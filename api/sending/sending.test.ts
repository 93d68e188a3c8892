import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'

interface Stored {
  from_email: string
  from_name: string | null
  reply_to: unknown
  to_list: unknown
  cc_list: unknown
  subject: string
  html: string | null
  body_text: string | null
  headers: unknown
  tags: string[] | null
  metadata: unknown
  track_opens: boolean | null
  track_clicks: boolean | null
  expires_at: Date | null
  tier: string
  recipient_count: number
  has_attachments: boolean
}

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
  const idOf = (answer: Json): string => textOf(answer['email_id']).slice(3)

  async function stored(answer: Json): Promise<Stored> {
    const {
      rows: [row],
    } = await api.db.query<Stored>('SELECT * FROM messages WHERE id = $1::uuid', [idOf(answer)])
    assert.ok(row !== undefined)
    return row
  }
  async function recipientsOf(answer: Json): Promise<string[]> {
    const { rows } = await api.db.query<{ kind: string; address: string }>(
      'SELECT kind, address FROM recipients WHERE message_id = $1::uuid ORDER BY n',
      [idOf(answer)],
    )
    return rows.map(({ kind, address }) => `${kind} ${address}`)
  }
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

  describe('every path of a tier', () => {
    const PATHS: readonly (readonly [path: string, tier: string, priority: string, queue: string, time: string])[] = [
      ['/send-email/instant', 'instant', 'instant', 'instant', '0-5 seconds'],
      ['/send-email/high', 'high', 'high', 'high', '0-30 seconds'],
      ['/send-email/async', 'normal', 'normal', 'async', '0-5 minutes'],
      ['/send-email/normal', 'normal', 'normal', 'async', '0-5 minutes'],
      ['/send-email/queue', 'normal', 'normal', 'async', '0-5 minutes'],
      ['/send-email/bulk', 'bulk', 'bulk', 'bulk', 'when the queue is idle'],
    ]
    for (const [path, tier, priority, queue, time] of PATHS) {
      for (const written of [path, `/public${path}`]) {
        it(`${written} returns all documented fields and uses the tier ${tier}`, async () => {
          const before = Date.now()
          const { status, body } = await api.call('POST', written, {
            body: {
              from: from(),
              to: ['a@b.example', 'c@d.example'],
              cc: ['e@f.example'],
              subject: 'Hello',
              body: 'x',
            },
          })
          assert.strictEqual(status, 200)
          const id = textOf(body['id'])
          const [, ms, suffix] = /^msg_(\d+)_([0-9a-f]{32})$/.exec(id) ?? []
          assert.ok(Number(ms) >= before && Number(ms) <= Date.now())
          assert.deepEqual(
            { ...body, message: typeof body['message'] },
            {
              success: true,
              message: 'string',
              id,
              object: 'email',
              status: 'queued',
              from: from(),
              to: ['a@b.example', 'c@d.example'],
              subject: 'Hello',
              created_at: new Date(Number(ms)).toISOString(),
              metadata: { priority, estimated_delivery: time, recipients_count: 3 },
              email_id: `em_${suffix}`,
              queue,
              estimated_delivery: time,
              data: { id, job_id: `em_${suffix}`, status: 'queued', priority, recipients: 3 },
            },
          )
          assert.strictEqual((await stored(body)).tier, tier)
        })
      }
    }
  })

  describe('recipients', () => {
    const FORMS: readonly (readonly [rule: string, fields: object, expected: readonly string[]])[] = [
      ['to is a list', { to: ['a@b.example', 'c@d.example'] }, ['to a@b.example', 'to c@d.example']],
      ['to is one text', { to: 'a@b.example' }, ['to a@b.example']],
      [
        'to is a text with commas',
        { to: 'a@b.example, c@d.example,,"E, F" <e@f.example>' },
        ['to a@b.example', 'to c@d.example', 'to e@f.example'],
      ],
      [
        'to has objects {email, name?}',
        { to: [{ email: 'a@b.example' }, { email: 'c@d.example', name: 'C' }] },
        ['to a@b.example', 'to c@d.example'],
      ],
      ['to is one object', { to: { email: 'a@b.example' } }, ['to a@b.example']],
      ['to has strings Name <a@b>', { to: ['A <a@b.example>'] }, ['to a@b.example']],
      [
        'cc and bcc: the same forms',
        { to: 'a@b.example', cc: 'C <c@b.example>, d@b.example', bcc: [{ email: 'e@b.example' }] },
        ['to a@b.example', 'cc c@b.example', 'cc d@b.example', 'bcc e@b.example'],
      ],
      ['null and empty lists are no recipients', { to: 'a@b.example', cc: null, bcc: '' }, ['to a@b.example']],
      [
        'duplicate addresses in one message are sent once',
        { to: ['a@b.example', 'A@B.example'], cc: ['a@b.example', 'c@b.example'], bcc: ['C@b.example'] },
        ['to a@b.example', 'cc c@b.example'],
      ],
      ['an international domain is stored in A-labels', { to: 'a@bücher.example' }, ['to a@xn--bcher-kva.example']],
    ]
    for (const [rule, fields, expected] of FORMS) {
      it(rule, async () => {
        const { status, body } = await send(fields)
        assert.strictEqual(status, 200, JSON.stringify(body))
        assert.deepEqual(await recipientsOf(body), expected)
        assert.strictEqual(body['metadata']?.['recipients_count'], expected.length)
      })
    }
    it('names stay with their addresses, and a header has each address once', async () => {
      const row = await stored(
        (
          await send({
            to: ['A <a@b.example>', 'a@b.example'],
            cc: [{ email: 'c@b.example', name: 'C, "the" third' }, 'a@b.example'],
          })
        ).body,
      )
      assert.deepEqual(
        [row.to_list, row.cc_list],
        [[{ email: 'a@b.example', name: 'A' }], [{ email: 'c@b.example', name: 'C, "the" third' }]],
      )
    })
    it('at most 50 recipients in one message, to, cc and bcc together, each counted once', async () => {
      const many = (n: number, mark: string): string[] => Array.from({ length: n }, (_, i) => `${mark}${i}@b.example`)
      assert.strictEqual(
        (await send({ to: [...many(20, 'a'), ...many(20, 'a')], cc: many(20, 'c'), bcc: many(10, 'd') })).status,
        200,
      )
      const { status, body } = await send({ to: many(20, 'a'), cc: many(20, 'c'), bcc: many(11, 'd') })
      assert.deepEqual([status, body['error'], body['details']?.['0']?.['path']], [400, 'VALIDATION_ERROR', 'to'])
    })
  })

  describe('fields', () => {
    const FIELDS: readonly (readonly [rule: string, fields: () => object, expected: () => Partial<Stored>])[] = [
      ['from is Name <a@b>', () => ({ from: `Me <${from()}>` }), () => ({ from_email: from(), from_name: 'Me' })],
      [
        'from is an object',
        () => ({ from: { email: from(), name: 'Me' } }),
        () => ({ from_email: from(), from_name: 'Me' }),
      ],
      ['from_name', () => ({ from_name: 'Me' }), () => ({ from_email: from(), from_name: 'Me' })],
      ['fromName', () => ({ fromName: 'Me' }), () => ({ from_name: 'Me' })],
      [
        'from_name wins over the name in from',
        () => ({ from: `You <${from()}>`, from_name: 'Me' }),
        () => ({ from_name: 'Me' }),
      ],
      ['reply_to', () => ({ reply_to: 'r@b.example' }), () => ({ reply_to: { email: 'r@b.example', name: null } })],
      [
        'reply_to with a name',
        () => ({ reply_to: 'R <r@b.example>' }),
        () => ({ reply_to: { email: 'r@b.example', name: 'R' } }),
      ],
      [
        'reply_to is an object',
        () => ({ reply_to: { email: 'r@b.example', name: 'R' } }),
        () => ({ reply_to: { email: 'r@b.example', name: 'R' } }),
      ],
      ['reply_to false is none', () => ({ reply_to: false }), () => ({ reply_to: null })],
      ['body: HTML is detected', () => ({ body: '<p>x</p>' }), () => ({ html: '<p>x</p>', body_text: null })],
      ['body: text is detected', () => ({ body: 'x < y' }), () => ({ html: null, body_text: 'x < y' })],
      ['html', () => ({ body: undefined, html: '<p>x</p>' }), () => ({ html: '<p>x</p>', body_text: null })],
      ['text', () => ({ body: undefined, text: 'x' }), () => ({ html: null, body_text: 'x' })],
      [
        'html and text together',
        () => ({ body: undefined, html: '<p>x</p>', text: 'x' }),
        () => ({ html: '<p>x</p>', body_text: 'x' }),
      ],
      ['is_html true', () => ({ body: 'x', is_html: true }), () => ({ html: 'x', body_text: null })],
      ['is_html false', () => ({ body: '<p>x</p>', is_html: false }), () => ({ html: null, body_text: '<p>x</p>' })],
      [
        'headers',
        () => ({ headers: { 'X-One': '1', 'In-Reply-To': '<a@b>', 'X-N': 5 } }),
        () => ({
          headers: [
            ['X-One', '1'],
            ['In-Reply-To', '<a@b>'],
            ['X-N', '5'],
          ],
        }),
      ],
      ['tags', () => ({ tags: ['a', 'b'] }), () => ({ tags: ['a', 'b'] })],
      [
        'metadata',
        () => ({ metadata: { order: 5, name: 'x', isNew: true, none: null } }),
        () => ({ metadata: { order: 5, name: 'x', isNew: true, none: null } }),
      ],
      [
        'track_opens, track_clicks',
        () => ({ track_opens: true, track_clicks: false }),
        () => ({ track_opens: true, track_clicks: false }),
      ],
      ['tracking not said', () => ({}), () => ({ track_opens: null, track_clicks: null })],
      [
        'expires_at',
        () => ({ expires_at: '2999-01-01T00:00:00Z' }),
        () => ({ expires_at: new Date('2999-01-01T00:00:00Z') }),
      ],
      ['unknown fields are ignored', () => ({ colour: 'blue', $schema: {} }), () => ({ subject: 's' })],
      [
        'null is as good as left out',
        () => ({
          reply_to: null,
          from_name: null,
          html: null,
          template_id: null,
          params: null,
          attachments: null,
          headers: null,
          tags: null,
          metadata: null,
          expires_at: null,
          track_opens: null,
          is_html: null,
        }),
        () => ({ body_text: 'x', headers: null, tags: null, metadata: null }),
      ],
    ]
    for (const [rule, fields, expected] of FIELDS) {
      it(rule, async () => {
        const { status, body } = await send(fields())
        assert.strictEqual(status, 200, JSON.stringify(body))
        const row = await stored(body)
        const expectedFields = expected()
        assert.deepEqual(
          Object.fromEntries(Object.keys(expectedFields).map((name) => [name, row[name as keyof Stored]])),
          expectedFields,
        )
      })
    }
    it('attachments are decoded and stored', async () => {
      const { body } = await send({
        attachments: [
          { filename: '../a.pdf', content: 'AAEC/w==', content_type: 'application/pdf', content_id: 'logo' },
          { filename: 'b.txt', content: 'Yg==' },
        ],
      })
      const { rows } = await api.db.query(
        'SELECT n, filename, content_type, content_id, content FROM attachments WHERE message_id = $1::uuid ORDER BY n',
        [idOf(body)],
      )
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [
          {
            n: 0,
            filename: 'a.pdf',
            content_type: 'application/pdf',
            content_id: 'logo',
            content: Buffer.from([0, 1, 2, 255]),
          },
          { n: 1, filename: 'b.txt', content_type: 'text/plain', content_id: null, content: Buffer.from('b') },
        ],
      )
      assert.strictEqual((await stored(body)).has_attachments, true)
    })
    it('reply_to true uses the reply-to of the workspace', async () => {
      const tenant = await api.addTenant()
      const body = { from: `me@${tenant.domain}`, to: 'a@b.example', subject: 's', body: 'x', reply_to: true }
      const without = await api.call('POST', '/send-email/high', { key: tenant.regular, body })
      assert.deepEqual([without.status, without.body['details']?.['0']?.['path']], [400, 'reply_to'])
      await api.db.query('UPDATE workspaces SET reply_to = $2 WHERE id = $1', [api.workspaceId, 'answers@b.example'])
      await waitFor(async () => (await send({ reply_to: true })).status === 200)
      assert.deepEqual((await stored((await send({ reply_to: true })).body)).reply_to, {
        email: 'answers@b.example',
        name: null,
      })
    })
    it('with a suppressed recipient, the send succeeds and the recipient is suppressed', async () => {
      await api.db.query(
        `INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'gone@b.example', 'bounce')`,
        [api.workspaceId],
      )
      const { status, body } = await send({ to: ['Gone@b.example', 'a@b.example'] })
      assert.strictEqual(status, 200)
      const view = await api.call('GET', `/public/emails/get-email?id=${textOf(body['id'])}`)
      const events = view.body['data']?.['events'] as unknown as {
        type: string
        data: { reason?: string } | null
        recipient: string
      }[]
      assert.deepEqual(
        events.map(({ type, recipient, data }) => [recipient, type, data?.reason]),
        [
          ['Gone@b.example', 'email.failed', 'suppressed'],
          ['a@b.example', 'email.queued', undefined],
        ],
      )
    })
  })

  async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
    while (!(await isSo()))
      await new Promise((resolve) => {
        setTimeout(resolve, 20)
      })
  }

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
    it('over the quota: 429 RATE_LIMITED with Retry-After, nothing stored', async () => {
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
      assert.deepEqual([over.status, over.body['error']], [429, 'RATE_LIMITED'])
      assert.ok(Number(over.headers.get('retry-after')) > 0)
      assert.strictEqual(await count(), before)
      assert.strictEqual(
        (await api.call('POST', '/send-email/bulk', { key: tenant.regular, body: { ...body, to: 'a@b.example' } }))
          .status,
        200,
      )
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
