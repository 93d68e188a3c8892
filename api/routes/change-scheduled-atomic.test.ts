/**
 * A change of a scheduled message is complete, or nothing is different: when it is refused, and while others change,
 * cancel or claim the message.
 */
import { assert } from 'chai'
import { claimRecipients } from '#src/messages/claim.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { until } from '#test/support/until.ts'
import { CHANGE_LIMITS, DAY_MS, FILE, inMs, scheduledScene, type Row } from './change-scheduled.test-data.ts'

describe('a change of a scheduled message, whole or not at all', () => {
  let api: TestApi
  before(async () => {
    api = await startApi(CHANGE_LIMITS)
  })
  after(() => api.stop())
  const { change, changed, plan, stored, messageOf, recipientsOf } = scheduledScene(() => api)

  const REFUSED: readonly (readonly [what: string, body: object, status: number, error: string])[] = [
    ['nobody in To', { to: [], subject: 'New' }, 400, 'VALIDATION_ERROR'],
    ['an invalid recipient', { cc: ['nobody'], subject: 'New' }, 400, 'VALIDATION_ERROR'],
    [
      'too many recipients',
      { cc: [1, 2, 3, 4, 5].map((n) => `n${n}@b.example`), tags: ['new'] },
      400,
      'VALIDATION_ERROR',
    ],
    [
      'too large an attachment beside the text',
      { attachments: [{ content: 'A'.repeat(4004) }] },
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    ['a text too large beside the attachment', { text: 'y'.repeat(2999), cc: 'n@b.example' }, 413, 'PAYLOAD_TOO_LARGE'],
    ['an expiry before its time', { expires_at: inMs(3600_000), tags: ['new'] }, 400, 'VALIDATION_ERROR'],
    ['a forbidden header', { headers: { Sender: 'x@y.example' } }, 400, 'VALIDATION_ERROR'],
    ['no template', { template_id: 'nope', cc: [] }, 400, 'INVALID_TEMPLATE'],
  ]
  for (const [what, body, status, error] of REFUSED)
    it(`refuses ${what}, and changes nothing`, async () => {
      const id = await plan()
      const before = await stored(id)
      const answer = await change(id, body)
      assert.deepEqual([answer.status, answer.body['error']] as unknown[], [status, error], JSON.stringify(answer.body))
      assert.deepEqual(await stored(id), before)
    })
  it('refuses recipients beyond the quota, and changes nothing', async () => {
    const tenant = await api.addTenant()
    const id = await plan({}, tenant)
    await api.db.query('UPDATE usage SET used = 100000000 WHERE workspace_id = $1', [tenant.workspaceId])
    const before = await stored(id)
    const answer = await change(id, { cc: ['n@b.example'], subject: 'New', attachments: [] }, tenant.regular)
    assert.deepEqual([answer.status, answer.body['reason']] as unknown[], [429, 'quota'])
    assert.deepEqual(await stored(id), before)
    assert.strictEqual((await change(id, { cc: [] }, tenant.regular)).status, 200)
  })
  it('of a complete message only what is not in its octets can be changed', async () => {
    const raw = Buffer.from(`From: me@${api.domain}\r\nTo: a@b.example\r\n\r\nx`).toString('base64')
    const sent = await api.call('POST', '/send-email/raw', { body: { raw, scheduled_at: inMs(DAY_MS) } })
    const id = textOf(sent.body['email_id'])
    const before = await stored(id)
    for (const body of [{ subject: 'New' }, { cc: 'c@b.example' }, { attachments: [FILE] }, { text: 'x' }])
      assert.strictEqual((await change(id, body)).status, 409)
    assert.deepEqual(await stored(id), before)
    await changed(id, { tags: ['late'], priority: 'bulk', scheduled_at: inMs(2 * DAY_MS) })
    const { tags, tier, content_size } = await messageOf(id)
    assert.deepEqual([tags, tier, content_size], [['late'], 'bulk', (before['message'] as Row)['content_size']])
  })

  const EVERYTHING = {
    from: 'N <new@DOMAIN>',
    to: ['x@b.example'],
    cc: [],
    subject: 'Too late',
    html: '<p>late</p>',
    attachments: [FILE],
    tags: ['late'],
    scheduled_at: inMs(3 * DAY_MS),
  }
  const everything = (): object => ({ ...EVERYTHING, from: `N <new@${api.domain}>` })
  it('a claim at the same moment: the change waits for it, is 409, and nothing of it is stored', async () => {
    const id = await plan()
    const messageId = messageIdOf(id) ?? ''
    let answer: Promise<TestResponse> | undefined
    let subject = ''
    const lease = await newLease()
    await api.db.transaction(async (tx) => {
      const wanted = [0, 1, 2].map((n) => ({ messageId, n }))
      const claimed = await claimRecipients(tx, lease, wanted, new Date(Date.now() + 2 * DAY_MS))
      assert.strictEqual(claimed.length, 3)
      subject = claimed[0]?.content.subject ?? ''
      answer = change(id, everything())
      await until(async () => (await countWaiting()) > 0)
    })
    assert.strictEqual(subject, 's')
    assert.strictEqual((await answer)?.status, 409)
    const after = await stored(id)
    const { subject: now, from_email, tags } = after['message'] as Row
    assert.deepEqual([now, from_email, tags], ['s', `me@${api.domain}`, ['old']])
    assert.deepEqual(after['attachments'], [['a.txt', 'abc']])
    assert.deepEqual(await recipientsOf(id), [
      'to a@b.example sending',
      'cc c@b.example sending',
      'bcc d@b.example sending',
    ])
  })
  it('a claim after a change gets all of it', async () => {
    const id = await plan()
    const messageId = messageIdOf(id) ?? ''
    await changed(id, everything())
    const wanted = [0, 1, 2, 3].map((n) => ({ messageId, n }))
    const claimed = await claimRecipients(api.db, await newLease(), wanted, new Date(Date.now() + 4 * DAY_MS))
    assert.deepEqual(
      claimed
        .map(({ address, content }) => [address, content.subject, content.html, content.from.email].join(' '))
        .toSorted(),
      [`d@b.example Too late <p>late</p> new@${api.domain}`, `x@b.example Too late <p>late</p> new@${api.domain}`],
    )
  })
  it('concurrent changes and a cancellation follow each other', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await plan({ cc: [], bcc: [] })
      const answers = await Promise.all([
        change(id, { cc: ['k@b.example', 'l@b.example'] }),
        change(id, { bcc: ['m@b.example'], subject: 'One' }),
        api.call('DELETE', `/send-email/schedule/${id}`),
        change(id, { to: ['z@b.example'], tags: ['z'] }),
      ])
      for (const { status } of answers) assert.include([200, 409], status)
      assert.strictEqual(answers[2]?.status, 200)
      const after = await stored(id)
      assert.ok((await recipientsOf(id)).every((one) => one.endsWith('cancelled')))
      const sequences = (after['events'] as number[][]).map(([sequence]) => sequence)
      assert.deepEqual(
        sequences,
        sequences.map((_, i) => i + 1),
      )
    }
  })
  async function newLease(): Promise<number> {
    const { rows } = await api.db.query<{ id: number }>(
      sql`
        INSERT INTO leases (version, machine, pid, expires_at)
        VALUES ('0.2.0', 'test', 1, now() + interval '1 hour')
        RETURNING id`,
    )
    return rows[0]?.id ?? assert.fail('no lease')
  }
  async function countWaiting(): Promise<number> {
    const { rows } = await api.db.query<{ n: number }>('SELECT count(*) AS n FROM pg_locks WHERE NOT granted')
    return Number(rows[0]?.n)
  }
})
