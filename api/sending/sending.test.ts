import { assert } from 'chai'
import { startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { FIELDS, FORMS, type Stored } from './sending.test-data.ts'

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
    } = await api.db.query<Stored>(
      'SELECT * FROM messages JOIN message_bodies ON message_id = id WHERE id = $1::uuid',
      [idOf(answer)],
    )
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
    for (const [rule, fields, expected] of FIELDS) {
      it(rule, async () => {
        const { status, body } = await send(fields(from()))
        assert.strictEqual(status, 200, JSON.stringify(body))
        const row = await stored(body)
        const expectedFields = expected(from())
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
})
