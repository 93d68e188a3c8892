/** The topics of pages for people: members, segments, suppressions, received mail, and the queue of the workspace. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { countAllEvents } from '#src/statistics/mail.test-data.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type TestApi } from '#test/support/api.ts'
import { addDmarcReports } from '#test/support/dmarc-samples.ts'
import { openEventStream, type EventStream } from '#test/support/event-stream.ts'
import { addPerson, addSignedIn } from '#test/support/people.ts'
import { until } from '#test/support/until.ts'

describe('topics of the stream of changes', () => {
  let api: TestApi
  const opened: EventStream[] = []
  before(async () => {
    api = await startApi()
  })
  afterEach(() => opened.splice(0).forEach((stream) => stream.close()))
  after(() => api.stop())

  async function open(path: string, headers: Record<string, string>, key: string | null = null): Promise<EventStream> {
    const stream = await openEventStream(`${api.url}/api/v1${path}`, { key, headers })
    opened.push(stream)
    if (stream.status === 200) await stream.next(({ type }) => type === 'ready')
    return stream
  }
  const has = (stream: EventStream, topic: string, id: string): Promise<void> =>
    until(
      () => stream.changesOf(topic).some((change) => textOf(change['id']) === id),
      () => `no change of ${topic} ${id}`,
    )

  it('report what an owner sees change, without addresses', async () => {
    const owner = await addSignedIn(api, { role: 'owner' })
    const headers = { cookie: owner.cookie, 'x-workspace': api.workspaceId }
    const stream = await open('/public/changes', headers)
    const member = await addPerson(api, { role: 'viewer' })
    await has(stream, 'members', member.userId)
    await owner.call('POST', '/public/invitations', { body: { email: 'invited@people.example', role: 'viewer' } })
    await has(stream, 'members', 'all')
    const segment = await owner.call('POST', '/public/segments', {
      body: { name: 'S', filter: { tag: 'vip', has: true } },
    })
    assert.equal(segment.status, 201, JSON.stringify(segment.body))
    await has(stream, 'segments', textOf(segment.body['data']?.['id']))
    await owner.call('POST', '/public/suppressions', { body: { email: 'never@people.example' } })
    await has(stream, 'suppressions', 'all')
    await owner.call('POST', '/send-email/bulk', {
      body: { from: `shop@${api.domain}`, to: 'anna@people.example', subject: 'S', text: 'T' },
    })
    await until(() =>
      stream.changesOf('open-mail').some((one) => textOf(one['id']) === 'bulk' && Number(one['count']) === 1),
    )
    for (const text of ['invited@', 'never@', 'anna@', member.email]) assert.notInclude(stream.text, text)
  })

  it('of members are for people, and those of received mail for who may read it', async () => {
    const ofKey = await open('/public/changes', {}, api.admin)
    assert.notInclude(listOf(ofKey.events[0]?.data['topics']) as unknown as string[], 'members')
    const viewer = await addSignedIn(api, { role: 'viewer' })
    const ofViewer = await open('/public/changes', { cookie: viewer.cookie, 'x-workspace': api.workspaceId })
    const topics = listOf(ofViewer.events[0]?.data['topics']) as unknown as string[]
    assert.includeMembers(topics, ['members', 'open-mail', 'suppressions'])
    for (const topic of ['received-emails', 'inbound-routes', 'webhooks', 'api-keys']) assert.notInclude(topics, topic)
  })

  it('of statistics have the counters of the day: what is rolled up, and what was counted since', async () => {
    const { workspaceId, domain, admin, regular } = await api.addTenant()
    const stream = await open('/public/changes?topics=statistics', {}, admin)
    await api.db.query(
      sql`
        WITH rolled AS (
          UPDATE statistics_cursors
          SET rolled_until = date_trunc('minute', now())
          WHERE name = 'new'
          RETURNING rolled_until
        )
        INSERT INTO statistics (workspace_id, dimension, at, resolution, value, sent)
        SELECT $1, 'all', row.at, row.resolution, '', 7
        FROM rolled,
          LATERAL (
            VALUES (rolled_until - interval '1 minute', 0), (date_trunc('day', rolled_until, 'UTC'), 2)
          ) AS row (at, resolution)
      `,
      [workspaceId],
    )
    await until(() => stream.changesOf('statistics').some((one) => Number(one['sent']) === 7))
    const { status } = await api.call('POST', '/send-email/bulk', {
      key: regular,
      body: { from: `shop@${domain}`, to: 'anna@people.example', subject: 'S', text: 'T' },
    })
    assert.equal(status, 200)
    await countAllEvents(api)
    await until(
      () => stream.changesOf('statistics').some((one) => Number(one['sent']) === 7 && Number(one['accepted']) === 1),
      () => `the changes are ${JSON.stringify(stream.changesOf('statistics'))}`,
    )
  })

  it('of received mail are its arrival and that it was parsed, and no claim of the parser', async () => {
    const { cookie } = await addSignedIn(api, { role: 'owner' })
    const stream = await open('/public/changes?topics=received-emails', { cookie, 'x-workspace': api.workspaceId })
    const id = newId()
    await api.db.query(
      sql`
        INSERT INTO received_emails (
          id, workspace_id, route_id, action, recipient, mail_from, peer, helo, is_tls, size, raw, due_at
        )
        VALUES ($1, $2, $3, 'store', 'a@shop.example', '', '192.0.2.1', 'mx.example', false, 1, 'x', now())
      `,
      [id, api.workspaceId, newId()],
    )
    await has(stream, 'received-emails', id)
    await api.db.query(`UPDATE received_emails SET due_at = now() + interval '1 minute' WHERE id = $1`, [id])
    await api.db.query(`UPDATE received_emails SET state = 'processed', due_at = NULL WHERE id = $1`, [id])
    await until(() => stream.changesOf('received-emails').some((one) => textOf(one['change']) === 'update'))
    const kinds = stream.changesOf('received-emails').map((one) => one['change'])
    assert.deepEqual(kinds, ['insert', 'update'])
  })

  it('of a DMARC report are for its workspace, without its content, and for operators', async () => {
    const { domainId, workspaceId, admin } = await api.addTenant()
    const stream = await open('/public/changes?topics=dmarc-reports', {}, admin)
    const ofOther = await open('/public/changes?topics=dmarc-reports', {}, api.admin)
    const ofOperator = await open('/admin/changes?topics=reports', {}, OPERATOR_TOKEN)
    await addDmarcReports(api, workspaceId, domainId)
    await has(stream, 'dmarc-reports', domainId)
    await has(ofOperator, 'reports', 'dmarc')
    assert.lengthOf(stream.changesOf('dmarc-reports'), 1)
    for (const { text } of [ofOperator, ofOther]) assert.notInclude(text, domainId)
  })

  it('of a bounce are for operators: it was stored, and processed, without its addresses', async () => {
    const stream = await open('/admin/changes?topics=reports', {}, OPERATOR_TOKEN)
    const id = newId()
    await api.db.query(
      sql`
        INSERT INTO inbound_reports (id, received_at, target, mail_from, peer, size, raw, due_at)
        VALUES ($1, now(), 'return-path', 'secret@people.example', '192.0.2.1', 1, 'x', now())
      `,
      [id],
    )
    await has(stream, 'reports', 'bounces')
    await api.db.query(`UPDATE inbound_reports SET kind = 'bounce', due_at = NULL WHERE id = $1`, [id])
    await until(() => stream.changesOf('reports').some((one) => textOf(one['change']) === 'update'))
    assert.notInclude(stream.text, 'secret@')
  })

  it('of suppressions on hold are for operators, without addresses, whether they begin or end', async () => {
    const stream = await open('/admin/changes?topics=held-suppressions', {}, OPERATOR_TOKEN)
    const count = (): number => stream.changesOf('held-suppressions').length
    await api.db.query(
      sql`
        INSERT INTO held_suppressions (workspace_id, address, hold, receiver, cause, rule, held_at)
        VALUES ($1, 'held@people.example', 'outage', 'people.example', 'c', 'r', now())
      `,
      [api.workspaceId],
    )
    await until(() => count() === 1)
    const none = api.db.query(`DELETE FROM held_suppressions WHERE address = 'other'`)
    await Promise.all([none, api.db.query(`UPDATE held_suppressions SET hold = 'proof'`)])
    await until(() => count() === 2)
    await api.db.query('DELETE FROM held_suppressions')
    await until(() => count() === 3)
    assert.notInclude(stream.text, 'held@')
  })

  it('of an erasure are its begin and its progress for who may erase, without the address', async () => {
    const owner = await addSignedIn(api, { role: 'owner' })
    const headers = { cookie: owner.cookie, 'x-workspace': api.workspaceId }
    const stream = await open('/public/changes?topics=erasures', headers)
    const email = 'erased@people.example'
    const begun = await owner.call('POST', '/public/privacy/erase-person', { body: { email } })
    const id = textOf(begun.body['data']?.['id'])
    await has(stream, 'erasures', id)
    await api.db.query(`UPDATE erasures SET position = $1 WHERE id = $2`, [newId(), id])
    await api.db.query(`UPDATE erasures SET deleted = '{"messages": 1}' WHERE id = $1`, [id])
    await until(() => stream.changesOf('erasures').length === 2)
    await api.db.query(`UPDATE erasures SET state = 'done', email = NULL WHERE id = $1`, [id])
    await until(() => stream.changesOf('erasures').some((one) => textOf(one['state']) === 'done'))
    assert.lengthOf(stream.changesOf('erasures'), 3)
    assert.notInclude(stream.text, 'erased@')
    const viewer = await addSignedIn(api, { role: 'viewer' })
    const ofViewer = await open('/public/changes', { cookie: viewer.cookie, 'x-workspace': api.workspaceId })
    assert.notInclude(listOf(ofViewer.events[0]?.data['topics']) as unknown as string[], 'erasures')
  })

  it('of checks are for operators', async () => {
    const stream = await open('/admin/changes?topics=checks', {}, OPERATOR_TOKEN)
    await api.db.query(
      sql`
        INSERT INTO live_checks (name, status, detail, todo, holds, since, checked_at)
        VALUES ($1, 'failed', 'd', 't', false, now(), now())
      `,
      [`check ${newId()}`],
    )
    await until(() => stream.changesOf('checks').some((one) => textOf(one['status']) === 'failed'))
  })
})
