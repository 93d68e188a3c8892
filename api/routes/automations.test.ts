import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { ALIASES, EXIT, REFUSED, automationCalls, errorOf, idOf, pathsOf } from './automations.test-data.ts'

describe('automations', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const { call, create, update, waiting, track, addContact } = automationCalls(() => api)
  async function addAudience(workspaceId = api.workspaceId): Promise<string> {
    const id = newId()
    await api.db.query(`INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`, [
      id,
      workspaceId,
      newId(),
    ])
    return id
  }

  it('are created as drafts, with all fields of the specification', async () => {
    const { status, body } = await create({})
    const data = body['data'] as Json
    assert.deepEqual(
      [
        status,
        data['name'],
        data['status'],
        data['trigger_type'],
        data['trigger_config'],
        data['version'],
        data['steps'],
        data['enrolled_count'],
        data['completed_count'],
      ],
      [201, 'Welcome', 'draft', 'manual', {}, 1, [], 0, 0],
    )
    for (const field of ['created_at', 'updated_at']) assert.ok(!Number.isNaN(Date.parse(textOf(data[field]))), field)
  })

  it('get-automation finds active ones only; the list and /:id find all', async () => {
    const id = idOf(await create({ steps: EXIT }))
    assert.deepEqual(errorOf(await call('GET', `/get-automation/${id}`)), [404, 'NOT_FOUND'])
    assert.strictEqual((await call('GET', `/${id}`)).body['data']?.['status'], 'draft')
    assert.strictEqual((await update(id, { status: 'active' })).status, 200)
    const { status, body } = await call('GET', `/get-automation/${id}`)
    const shown = body['data'] as Json
    assert.deepEqual([status, shown['id'], shown['status'], listOf(shown['steps']).length], [200, id, 'active', 1])
    const all = await call('GET', '/get-all?limit=1000')
    assert.ok(listOf(all.body['data']?.['automations']).some((one) => textOf(one['id']) === id))
    const drafts = await call('GET', '/get-all?status=draft&limit=1000')
    assert.ok(listOf(drafts.body['data']?.['automations']).every((one) => textOf(one['status']) === 'draft'))
    assert.deepEqual(errorOf(await call('GET', '/get-all?status=asleep')), [400, 'VALIDATION_ERROR'])
  })

  for (const [what, fields, type, config] of ALIASES) {
    it(`a trigger can be given as ${what}`, async () => {
      const { status, body } = await create(fields)
      const { trigger_type: storedType, trigger_config: stored } = body['data'] ?? {}
      assert.deepEqual([status, storedType, stored], [201, type, config], JSON.stringify(body))
    })
  }

  for (const [why, fields, path] of REFUSED) {
    it(`${why}: 400 that names ${path}`, async () => {
      const answer = await create(fields)
      assert.deepEqual([answer.status, answer.body['error']], [400, 'VALIDATION_ERROR'], JSON.stringify(answer.body))
      assert.ok(pathsOf(answer).includes(path), JSON.stringify(answer.body))
    })
  }

  it('are activated only if everything they name exists in this workspace', async () => {
    const other = await api.addTenant()
    const theirs = await addAudience(other.workspaceId)
    const steps = [
      { type: 'send_email', template_id: newId(), from: 'me@elsewhere.example' },
      {
        type: 'condition',
        condition: { type: 'has_tag', tag: 'x' },
        yes: [{ type: 'add_to_audience', audience_id: theirs }],
      },
      { type: 'webhook', url: 'http://127.0.0.1/x' },
    ]
    const trigger = { type: 'contact_added_to_audience', audience_id: theirs }
    const draft = await create({ trigger, steps })
    assert.strictEqual(draft.status, 201, JSON.stringify(draft.body))
    const answer = await update(idOf(draft), { status: 'active' })
    assert.strictEqual(answer.status, 400)
    assert.deepEqual(pathsOf(answer).toSorted(), [
      'steps.0.from',
      'steps.0.template_id',
      'steps.1.yes.0.audience_id',
      'steps.2.url',
      'trigger_config.audience_id',
    ])
    assert.strictEqual((await call('GET', `/${idOf(draft)}`)).body['data']?.['status'], 'draft')

    const mine = await addAudience()
    const whole = [
      { type: 'send_email', subject: 'Hi', body: 'x', from: `Me <me@${api.domain}>` },
      {
        type: 'condition',
        condition: { type: 'has_tag', tag: 'x' },
        yes: [{ type: 'add_to_audience', audience_id: mine }],
      },
      { type: 'webhook', url: 'https://hooks.example/x' },
    ]
    const fixed = await update(idOf(draft), {
      status: 'active',
      trigger: { type: 'audience', audience_id: mine },
      steps: whole,
    })
    const { status, version } = fixed.body['data'] ?? {}
    assert.deepEqual([fixed.status, status, version], [200, 'active', 2], JSON.stringify(fixed.body))
  })

  it('a date trigger in the past is refused', async () => {
    const past = await create({
      trigger: { type: 'date_time', at: '2020-01-01T00:00:00Z' },
      steps: EXIT,
      status: 'active',
    })
    assert.deepEqual([errorOf(past), pathsOf(past)], [[400, 'VALIDATION_ERROR'], ['trigger_config.at']])
  })

  it('one whose date has passed can still be renamed, paused and resumed', async () => {
    const id = idOf(await create({ trigger: { type: 'date_time', at: '2031-07-01' }, steps: EXIT, status: 'active' }))
    await api.db.query(`UPDATE automations SET starts_at = now() - interval '1 day' WHERE id = $1`, [id])
    for (const fields of [{ name: 'Other' }, { status: 'paused' }, { status: 'active' }])
      assert.strictEqual((await update(id, fields)).status, 200)
    assert.deepEqual(pathsOf(await update(id, { trigger_config: { at: '2020-01-01' } })), ['trigger_config.at'])
  })
  it('a workspace has at most 1000 that are not archived, also with concurrent requests', async () => {
    const other = await api.addTenant()
    await api.db.query(
      sql`
        INSERT INTO automations (id, workspace_id, name, status, trigger_type, trigger_config, version)
        SELECT gen_random_uuid(), $1, 'x', 'draft', 'manual', '{}', 1
        FROM generate_series(1, 998)
      `,
      [other.workspaceId],
    )
    await api.db.query(
      sql`
        INSERT INTO automations (id, workspace_id, name, status, trigger_type, trigger_config, version)
        SELECT gen_random_uuid(), $1, 'x', 'archived', 'manual', '{}', 1
        FROM generate_series(1, 500)
      `,
      [other.workspaceId],
    )
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({}, other.admin)))
    assert.strictEqual(answers.filter(({ status }) => status === 201).length, 2)
    assert.ok(
      answers.every(
        (answer) => answer.status === 201 || (answer.body['error'] !== undefined && errorOf(answer)[0] === 409),
      ),
    )
  })

  it('new steps create a new version; equal steps do not', async () => {
    const id = idOf(await create({ steps: EXIT }))
    const { body } = await call('GET', `/${id}`)
    const same = await update(id, { steps: body['data']?.['steps'], name: 'Other' })
    assert.deepEqual([same.body['data']?.['version'], same.body['data']?.['name']], [1, 'Other'])
    const next = await update(id, { steps: [{ type: 'delay', days: 1 }, ...EXIT] })
    assert.deepEqual([next.body['data']?.['version'], next.body['data']?.['step_count']], [2, 2])
    const versions = await Promise.all(
      Array.from({ length: 10 }, (_, i) => update(id, { steps: [{ type: 'delay', hours: i + 1 }] })),
    )
    const expected = new Set(Array.from({ length: 10 }, (_, i) => i + 3))
    assert.deepEqual(new Set(versions.map(({ body: one }) => one['data']?.['version'])), expected)
  })

  const STATUSES = ['draft', 'active', 'paused', 'archived'] as const
  const ALLOWED = new Set([
    'draft active',
    'active paused',
    'paused active',
    'draft archived',
    'active archived',
    'paused archived',
  ])
  for (const from of STATUSES) {
    for (const to of STATUSES.filter((one) => one !== from)) {
      const isAllowed = ALLOWED.has(`${from} ${to}`)
      it(`${from} to ${to}: ${isAllowed ? 200 : '409 CONFLICT'}`, async () => {
        const id = idOf(await create({ steps: EXIT }))
        await api.db.query('UPDATE automations SET status = $2 WHERE id = $1', [id, from])
        const answer = await update(id, { status: to })
        assert.deepEqual(errorOf(answer), isAllowed ? [200, undefined] : [409, 'CONFLICT'], JSON.stringify(answer.body))
      })
    }
  }
  it('an archived automation cannot be changed', async () => {
    const id = idOf(await create({ status: 'archived' }))
    for (const fields of [{ name: 'x' }, { steps: EXIT }, {}])
      assert.deepEqual(errorOf(await update(id, fields)), [409, 'CONFLICT'])
  })
  it('only a draft can be deleted', async () => {
    const [draft, active] = [idOf(await create({})), await waiting('delete')]
    assert.strictEqual((await call('DELETE', `/delete-automation/${draft}`)).status, 204)
    assert.deepEqual(errorOf(await call('DELETE', `/delete-automation/${draft}`)), [404, 'NOT_FOUND'])
    assert.deepEqual(errorOf(await call('DELETE', `/delete-automation/${active}`)), [409, 'CONFLICT'])
  })

  it('of another workspace are 404 and do not change', async () => {
    const other = await api.addTenant()
    await addContact('theirs@x.example', other.workspaceId)
    await addContact('theirs@x.example')
    const id = idOf(
      await create({ trigger: { type: 'event', event_name: 'shared' }, steps: EXIT, status: 'active' }, other.admin),
    )
    await call('POST', `/add-automation/${id}/enroll`, { email: 'theirs@x.example' }, other.admin)
    const tries: readonly (readonly [method: string, path: string, body?: object])[] = [
      ['GET', `/get-automation/${id}`],
      ['GET', `/${id}`],
      ['GET', `/${id}/subscribers`],
      ['PATCH', `/update-automation/${id}`, { name: 'mine' }],
      ['DELETE', `/delete-automation/${id}`],
      ['POST', `/add-automation/${id}/enroll`, { email: 'theirs@x.example' }],
      ['DELETE', `/delete-automation/${id}/subscribers`, { email: 'theirs@x.example' }],
    ]
    for (const [method, path, body] of tries)
      assert.deepEqual(errorOf(await call(method, path, body)), [404, 'NOT_FOUND'], `${method} ${path}`)
    assert.strictEqual((await track('theirs@x.example', 'shared')).body['data']?.['enrolled'], 0)
    const { body } = await call('GET', `/${id}`, undefined, other.admin)
    assert.deepEqual([body['data']?.['name'], body['data']?.['active_count']], ['Welcome', 1])
  })
})
