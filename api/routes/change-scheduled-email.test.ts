/** Changing messages that wait for their time. */
import { assert } from 'chai'
import { messageIdOf } from '#src/platform/id.ts'
import { parseTime } from '#src/platform/time-input.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { countAudited } from '#test/support/audit-count.ts'
import { until } from '#test/support/until.ts'

const DAY_MS = 24 * 3600_000
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString()

describe('changing a scheduled message', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const message = (fields: object = {}): object => ({
    from: `me@${api.domain}`,
    to: ['a@b.example'],
    subject: 's',
    body: 'x',
    ...fields,
  })
  const change = (id: string, body: object, key = api.regular): Promise<TestResponse> =>
    api.call('PATCH', `/send-email/schedule/${id}`, { key, body })
  async function stored(id: string): Promise<Record<string, unknown>> {
    const { rows } = await api.db.query<Record<string, unknown>>(
      sql`
        SELECT m.subject, b.html, b.body_text AS text, m.scheduled_at AS at, m.timezone, m.content_size AS size,
          m.template ->> 'id' AS template,
          (SELECT array_agg(DISTINCT r.due_at) FROM recipients r WHERE r.message_id = m.id) AS due
        FROM messages m
        JOIN message_bodies b ON b.message_id = m.id
        WHERE m.id = $1
      `,
      [messageIdOf(id)],
    )
    return rows[0] ?? {}
  }
  const plan = async (fields: object = {}): Promise<string> =>
    textOf(
      (
        await api.call('POST', '/send-email/schedule', {
          body: message({ scheduled_at: inMs(DAY_MS), ...fields }),
        })
      ).body['id'],
    )

  it('moves the time of all recipients; what is omitted stays', async () => {
    const id = await plan({ to: ['a@b.example', 'c@d.example'], timezone: 'Europe/Berlin' })
    const before = await stored(id)
    const local = inMs(10 * DAY_MS).slice(0, 19)
    const at = parseTime(local, 'Europe/Berlin')
    const { status, body } = await change(id, { scheduled_at: local })
    assert.deepEqual([status, body['data']?.['id'], body['data']?.['scheduled_at']] as unknown[], [
      200,
      id,
      at?.toISOString(),
    ])
    assert.deepEqual(await stored(id), { ...before, at, due: [at] })
    assert.isAbove(await countAudited(api.db, 'change-scheduled', [api.workspaceId]), 0)
  })
  it('changes the subject and the body, each alone or together', async () => {
    const id = await plan({ body: 'old', attachments: [{ filename: 'a', content: 'YWJj' }] })
    assert.strictEqual((await change(id, { subject: 'New' })).status, 200)
    const renamed = await stored(id)
    assert.deepEqual([renamed['subject'], renamed['text'], renamed['size']], ['New', 'old', 6])
    assert.strictEqual((await change(id, { html: '<p>new</p>' })).status, 200)
    const changed = await stored(id)
    assert.deepEqual(
      [changed['subject'], changed['html'], changed['text'], changed['size']],
      ['New', '<p>new</p>', null, 13],
    )
  })
  it('renders a template', async () => {
    const saved = await api.call('POST', '/templates/save', {
      body: { name: 'T', subject: 'Hi {{name}}', body: 'Dear {{name}}' },
    })
    const template = textOf(saved.body['data']?.['id'])
    const id = await plan()
    assert.strictEqual((await change(id, { template_id: template, params: { name: 'Ann' } })).status, 200)
    const row = await stored(id)
    assert.deepEqual([row['subject'], row['text'], row['template']], ['Hi Ann', 'Dear Ann', template])
  })
  const REFUSED: readonly (readonly [why: string, body: object, field: string])[] = [
    ['nothing to change', {}, ''],
    ['a time in the past', { scheduled_at: '2020-01-01T00:00:00Z' }, 'scheduled_at'],
    ['a time beyond its expiry', { scheduled_at: inMs(30 * DAY_MS) }, 'scheduled_at'],
    ['no time', { scheduled_at: 'soon' }, 'scheduled_at'],
    ['no time zone', { scheduled_at: inMs(DAY_MS), timezone: 'Mars/Base' }, 'timezone'],
  ]
  for (const [why, body, field] of REFUSED)
    it(`refuses ${why}, and changes nothing`, async () => {
      const id = await plan({ expires_at: inMs(20 * DAY_MS) })
      const before = await stored(id)
      const answer = await change(id, body)
      assert.deepEqual([answer.status, listOf(answer.body['details'])[0]?.['path'] as unknown], [400, field])
      assert.deepEqual(await stored(id), before)
    })
  it('is 409 when it is due soon, cancelled, or one recipient has left', async () => {
    const states = [`due_at = now() + interval '20 seconds'`, `state = 'cancelled'`, `state = 'sending'`]
    for (const state of states) {
      const id = await plan({ to: ['a@b.example', 'c@d.example'] })
      const which = state.includes('cancelled') ? [0, 1] : [1]
      await api.db.query(`UPDATE recipients SET ${state} WHERE message_id = $1 AND n = ANY ($2)`, [
        messageIdOf(id),
        which,
      ])
      const before = await stored(id)
      const answer = await change(id, { scheduled_at: inMs(2 * DAY_MS), subject: 'New' })
      assert.deepEqual([answer.status, answer.body['error']] as unknown[], [409, 'CONFLICT'], state)
      assert.deepEqual(await stored(id), before)
    }
  })
  it('waits for a claim at the same time, and is 409 after it', async () => {
    const id = await plan()
    let answer: Promise<TestResponse> | undefined
    await api.db.transaction(async (tx) => {
      await tx.query(`UPDATE recipients SET state = 'sending' WHERE message_id = $1`, [messageIdOf(id)])
      answer = change(id, { subject: 'Too late' })
      await until(async () => (await countLocks()) > 0)
    })
    assert.strictEqual((await answer)?.status, 409)
    assert.notStrictEqual((await stored(id))['subject'], 'Too late')
  })
  async function countLocks(): Promise<number> {
    const { rows } = await api.db.query<{ n: number }>('SELECT count(*) AS n FROM pg_locks WHERE NOT granted')
    return Number(rows[0]?.n)
  }
  it('of another workspace or of an unscheduled message is 404', async () => {
    const id = await plan()
    const other = await api.addTenant()
    const sent = await api.call('POST', '/send-email/bulk', { body: message() })
    for (const [name, key] of [
      [id, other.regular],
      [textOf(sent.body['id']), api.regular],
      ['x', api.regular],
    ] as const)
      assert.strictEqual((await change(name, { subject: 'New' }, key)).status, 404)
  })
})
