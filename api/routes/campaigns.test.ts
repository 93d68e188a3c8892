import { assert } from 'chai'
import { CAMPAIGN_STATES } from '#src/campaigns/state.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { CAMPAIGN_METRICS } from './campaign-view.ts'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

const NONE = Object.fromEntries(CAMPAIGN_METRICS.map((name) => [name, 0]))

describe('campaigns', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const call = (method: string, path: string, body?: unknown, key = api.admin): Promise<TestResponse> =>
    api.call(method, `/public/campaigns${path}`, { key, ...(body === undefined ? {} : { body }) })
  const create = (fields: object, key = api.admin): Promise<TestResponse> =>
    call('POST', '', { name: 'Spring', ...fields }, key)
  const idOf = ({ body }: TestResponse): string => textOf(body['data']?.['id'])
  const errorOf = ({ status, body }: TestResponse): readonly unknown[] => [status, body['error']]
  async function addAudience(workspaceId = api.workspaceId): Promise<string> {
    const id = newId()
    await api.db.query(`INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`, [
      id,
      workspaceId,
      newId(),
    ])
    return id
  }
  async function addTemplate(key = api.regular): Promise<string> {
    const saved = await api.call('POST', '/templates/save', { key, body: { name: 'T', subject: 'S', body: 'B' } })
    return textOf(saved.body['data']?.['id'])
  }

  it('are created as drafts, with all metrics 0', async () => {
    const audience = await addAudience()
    const answer = await create({ subject: 'Hi', html: '<p>x</p>', from: 'Me <me@a.example>', audience_id: audience })
    const data = answer.body['data'] as Json
    assert.deepEqual(
      [
        answer.status,
        data['name'],
        data['status'],
        data['subject'],
        data['body'],
        data['from'],
        data['from_name'],
        data['audience_ids'],
        data['template_id'],
        data['scheduled_at'],
      ],
      [201, 'Spring', 'DRAFT', 'Hi', '<p>x</p>', 'me@a.example', 'Me', [audience], null, null],
    )
    assert.deepEqual(data['metrics'], NONE)
  })
  it('count the states of their recipients', async () => {
    const id = idOf(await create({}))
    const then = new Date()
    const shared = {
      campaign_id: id,
      workspace_id: api.workspaceId,
      email: 'a@b.example',
      state: 'waiting',
      is_waiting: true,
      sends_at: then,
      generation: 1,
    }
    const rows: readonly object[] = [
      {},
      { dispatched_at: then, delivered_at: then, opened_at: then },
      { dispatched_at: then, bounced_at: then, bounce_type: 'hard' },
      { dispatched_at: then, bounced_at: then, bounce_type: 'soft' },
      { failed_at: then },
    ]
    await api.db.query(
      'INSERT INTO campaign_recipients SELECT r.* FROM jsonb_populate_recordset(NULL::campaign_recipients, $1) r',
      [JSON.stringify(rows.map((row) => ({ ...shared, contact_id: newId(), ...row })))],
    )
    const { metrics } = (await call('GET', `/${id}`)).body['data'] as Json
    assert.deepEqual(metrics, {
      ...NONE,
      recipients: 5,
      waiting: 5,
      dispatched: 3,
      delivered: 1,
      opened: 1,
      bounced: 2,
      bounced_hard: 1,
      bounced_soft: 1,
      failed: 1,
    })
    const empty = idOf(await create({}))
    const listed = new Map(
      listOf((await call('GET', '?limit=2')).body['data']?.['campaigns']).map(
        (one) => [textOf(one['id']), one['metrics']] as const,
      ),
    )
    assert.deepEqual([listed.get(id), listed.get(empty)], [metrics, NONE])
  })
  it('are updated field by field; a template replaces a body', async () => {
    const id = idOf(await create({ subject: 'Hi', body: 'x' }))
    const template = await addTemplate()
    const changed = await call('PATCH', `/${id}`, { template_id: template, from_name: 'Me' })
    const data = changed.body['data'] as Json
    assert.deepEqual(
      [changed.status, data['name'], data['subject'], data['body'], data['template_id'], data['from_name']],
      [200, 'Spring', 'Hi', null, template, 'Me'],
    )
    const fields = { body: 'y', subject: null, audience_ids: [await addAudience()] }
    const back = (await call('PATCH', `/update-campaign/${id}`, fields)).body['data'] as Json
    assert.deepEqual(
      [back['subject'], back['body'], back['template_id'], listOf(back['audience_ids']).length],
      [null, 'y', null, 1],
    )
    assert.deepEqual((await call('PATCH', `/${id}`, { audience_ids: null })).body['data']?.['audience_ids'], [])
  })
  it('are listed newest first, by state', async () => {
    const other = await api.addTenant()
    const ids = [
      idOf(await create({}, other.admin)),
      idOf(await create({}, other.admin)),
      idOf(await create({}, other.admin)),
    ]
    await api.db.query(`UPDATE campaigns SET status = 'SENT' WHERE id = $1`, [ids[1]])
    const listed = async (query: string): Promise<unknown[]> =>
      listOf((await call('GET', query, undefined, other.admin)).body['data']?.['campaigns']).map((one) => one['id'])
    assert.deepEqual(await listed(''), [ids[2], ids[1], ids[0]])
    assert.deepEqual(await listed('?limit=1&page=2'), [ids[1]])
    assert.deepEqual(await listed('?status=draft'), [ids[2], ids[0]])
    assert.deepEqual(errorOf(await call('GET', '?status=lost')), [400, 'VALIDATION_ERROR'])
  })

  it('have HTML and a text part; text alone is the body', async () => {
    const parts = ({ body }: TestResponse): unknown[] => [body['data']?.['body'], body['data']?.['text']]
    const both = await create({ subject: 'S', html: '<p>x</p>', text: 'x' })
    assert.deepEqual(parts(both), ['<p>x</p>', 'x'])
    const patch = (answer: TestResponse, fields: object): Promise<TestResponse> =>
      call('PATCH', `/${idOf(answer)}`, fields)
    assert.deepEqual(parts(await patch(both, { text: 'y' })), ['<p>x</p>', 'y'])
    assert.deepEqual(parts(await patch(both, { html: '<p>z</p>' })), ['<p>z</p>', 'y'])
    assert.deepEqual(parts(await patch(both, { text: null })), ['<p>z</p>', null])
    const alone = await create({ subject: 'S', text: 'x' })
    assert.deepEqual(parts(alone), ['x', null])
    assert.deepEqual(parts(await patch(alone, { text: 'y' })), ['y', null])
    await patch(both, { text: 'y' })
    assert.deepEqual(parts(await patch(both, { template_id: await addTemplate() })), [null, null])
  })
  it('a workspace has at most 10,000 that have not ended', async () => {
    const other = await api.addTenant()
    const fill = (count: number, status: string): Promise<unknown> =>
      api.db.query(
        sql`
          INSERT INTO campaigns (id, workspace_id, name, status)
          SELECT gen_random_uuid(), $1, 'x', $2
          FROM generate_series(1, $3::int)
        `,
        [other.workspaceId, status, count],
      )
    await fill(10_000, 'COMPLETED')
    await fill(9999, 'DRAFT')
    assert.deepEqual([(await create({}, other.admin)).status, (await create({}, other.admin)).status], [201, 409])
  })

  const REFUSED: readonly (readonly [why: string, fields: () => Promise<object> | object, path: string])[] = [
    ['no name', () => ({ name: undefined }), 'name'],
    ['a template and a body', () => ({ template_id: newId(), html: 'x' }), 'template_id'],
    ['an unknown template', () => ({ template_id: newId() }), 'template_id'],
    [
      'a template of another workspace',
      async () => ({ template_id: await addTemplate((await api.addTenant()).regular) }),
      'template_id',
    ],
    [
      'an audience of another workspace',
      async () => ({ audience_ids: [await addAudience((await api.addTenant()).workspaceId)] }),
      'audience_ids.0',
    ],
    ['an invalid audience', () => ({ audience_ids: ['x'] }), 'audience_ids'],
    ['an unknown segment', () => ({ segment_id: newId() }), 'segment_id'],
    ['an invalid sender', () => ({ from: 'me' }), 'from'],
    ['a name with a line break', () => ({ from: { email: 'me@a.example', name: 'a\r\nBcc: b@c.example' } }), 'from'],
    [
      'a reply-to whose name is too long',
      () => ({ reply_to: { email: 'me@a.example', name: 'x'.repeat(256) } }),
      'reply_to',
    ],
    ['a subject with a line break', () => ({ subject: 'a\nb' }), 'subject'],
  ]
  for (const [why, fields, path] of REFUSED) {
    it(`${why}: 400 that names ${path}`, async () => {
      const answer = await create(await fields())
      assert.deepEqual(errorOf(answer), [400, 'VALIDATION_ERROR'], JSON.stringify(answer.body))
      assert.ok(
        listOf(answer.body['details']).some((detail) => textOf(detail['path']).startsWith(path)),
        JSON.stringify(answer.body),
      )
    })
  }

  for (const status of Object.keys(CAMPAIGN_STATES)) {
    it(`${status}: update and delete ${status === 'DRAFT' ? 'succeed' : 'are 409 CONFLICT'}`, async () => {
      const id = idOf(await create({}))
      await api.db.query('UPDATE campaigns SET status = $2, scheduled_at = now() WHERE id = $1', [id, status])
      const changed = await call('PATCH', `/${id}`, { name: 'Other' })
      const deleted = await call('DELETE', `/${id}`)
      const expected =
        status === 'DRAFT'
          ? [
              [200, undefined],
              [204, undefined],
            ]
          : [
              [409, 'CONFLICT'],
              [409, 'CONFLICT'],
            ]
      assert.deepEqual([errorOf(changed), [deleted.status, deleted.body?.['error']]], expected)
      const left = await call('GET', `/${id}`)
      assert.deepEqual(
        [left.status, left.body['data']?.['name']],
        status === 'DRAFT' ? [404, undefined] : [200, 'Spring'],
      )
    })
  }
  it('of another workspace are 404 and do not change', async () => {
    const other = await api.addTenant()
    const id = idOf(await create({}, other.admin))
    for (const [method, body] of [['GET'], ['PATCH', { name: 'mine' }], ['DELETE']] as const)
      assert.deepEqual(errorOf(await call(method, `/${id}`, body)), [404, 'NOT_FOUND'], method)
    assert.strictEqual((await call('GET', `/${id}`, undefined, other.admin)).body['data']?.['name'], 'Spring')
    assert.deepEqual(errorOf(await call('GET', '/x')), [404, 'NOT_FOUND'])
  })
})
