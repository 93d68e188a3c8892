import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

const EXIT = [{ type: 'exit' }]

describe('automations', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const call = (method: string, path: string, body?: unknown, key = api.admin): Promise<TestResponse> =>
    api.call(method, `/public/automations${path}`, { key, ...(body === undefined ? {} : { body }) })
  const create = (fields: object, key = api.admin): Promise<TestResponse> =>
    call('POST', '/create', { name: 'Welcome', ...fields }, key)
  const update = (id: string, fields: object, key = api.admin): Promise<TestResponse> =>
    call('PATCH', `/update-automation/${id}`, fields, key)
  const idOf = ({ body }: TestResponse): string => textOf(body['data']?.['id'])
  const errorOf = ({ status, body }: TestResponse): readonly unknown[] => [status, body['error']]
  const pathsOf = ({ body }: TestResponse): string[] => listOf(body['details']).map((detail) => textOf(detail['path']))
  const waiting = async (event: string, fields: object = {}): Promise<string> =>
    idOf(
      await create({
        trigger_type: 'contact_event',
        trigger_config: { event_name: event },
        steps: EXIT,
        status: 'active',
        ...fields,
      }),
    )
  const track = (email: string, event: string, fields: object = {}): Promise<TestResponse> =>
    call('POST', '/events/track', { email, event_name: event, ...fields })
  async function addAudience(workspaceId = api.workspaceId): Promise<string> {
    const id = newId()
    await api.db.query(`INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`, [
      id,
      workspaceId,
      newId(),
    ])
    return id
  }
  async function addContact(email: string, workspaceId = api.workspaceId): Promise<string> {
    const id = newId()
    await api.db.query('INSERT INTO contacts (id, workspace_id, email) VALUES ($1, $2, $3)', [id, workspaceId, email])
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

  const ALIASES: readonly (readonly [what: string, fields: object, type: string, config: object])[] = [
    [
      'snake case',
      { trigger_type: 'contact_event', trigger_config: { event_name: 'a' } },
      'contact_event',
      { event_name: 'a' },
    ],
    [
      'camel case',
      { triggerType: 'contactEvent', triggerConfig: { eventName: 'a' } },
      'contact_event',
      { event_name: 'a' },
    ],
    [
      'words',
      { trigger_type: 'Contact Event', trigger_config: { event: ' a ' } },
      'contact_event',
      { event_name: 'a' },
    ],
    ['an object', { trigger: { type: 'event', config: { event_name: 'a' } } }, 'contact_event', { event_name: 'a' }],
    ['a flat object', { trigger: { type: 'event', event_name: 'a' } }, 'contact_event', { event_name: 'a' }],
    ['a text', { trigger: 'manual' }, 'manual', {}],
    [
      'a wall time',
      { trigger: { type: 'date_time', at: '2031-07-01_10:00:00', timezone: 'Europe/Berlin' } },
      'date_time',
      { at: '2031-07-01T08:00:00.000Z', timezone: 'Europe/Berlin' },
    ],
    [
      'an instant',
      { trigger_type: 'date_time', trigger_config: { at: '2031-07-01T10:00:00Z' } },
      'date_time',
      { at: '2031-07-01T10:00:00.000Z', timezone: 'UTC' },
    ],
  ]
  for (const [what, fields, type, config] of ALIASES) {
    it(`a trigger can be given as ${what}`, async () => {
      const { status, body } = await create(fields)
      const { trigger_type: storedType, trigger_config: stored } = body['data'] ?? {}
      assert.deepEqual([status, storedType, stored], [201, type, config], JSON.stringify(body))
    })
  }

  const REFUSED: readonly (readonly [why: string, fields: object, path: string])[] = [
    ['no name', { name: undefined }, 'name'],
    ['a name with a line break', { name: 'a\nb' }, 'name'],
    ['a long name', { name: 'x'.repeat(256) }, 'name'],
    ['another trigger', { trigger_type: 'full_moon' }, 'trigger_type'],
    ['another status', { status: 'asleep' }, 'status'],
    ['no event name', { trigger_type: 'contact_event' }, 'trigger_config.event_name'],
    [
      'an empty event name',
      { trigger_type: 'contact_event', trigger_config: { event_name: ' ' } },
      'trigger_config.event_name',
    ],
    [
      'a long event name',
      { trigger_type: 'contact_event', trigger_config: { event_name: 'x'.repeat(256) } },
      'trigger_config.event_name',
    ],
    [
      'no audience',
      { trigger_type: 'contact_added_to_audience', trigger_config: { audience_id: 'x' } },
      'trigger_config.audience_id',
    ],
    ['no moment', { trigger_type: 'date_time', trigger_config: {} }, 'trigger_config.at'],
    [
      'no such zone',
      { trigger_type: 'date_time', trigger_config: { at: '2031-07-01', timezone: 'Mars' } },
      'trigger_config.timezone',
    ],
    ['steps that are not a list', { steps: {} }, 'steps'],
    ['a step of no kind', { steps: [{ type: 'dance' }] }, 'steps.0.type'],
    ['active without steps', { status: 'active' }, 'steps'],
    ['created as paused', { status: 'paused' }, 'status'],
  ]
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

  describe('events', () => {
    it('enrol a known contact in every active automation with exactly this event name', async () => {
      await addContact('ann@x.example')
      const [one, two] = [await waiting('bought'), await waiting('bought')]
      await waiting('Bought')
      await waiting('bought', { status: 'draft' })
      const { status, body } = await track('Ann@X.example', 'bought', { properties: { price: 7 } })
      assert.deepEqual([status, body['data']], [200, { enrolled: 2 }])
      for (const id of [one, two]) {
        const { body: found } = await call('GET', `/${id}/subscribers`)
        const [subscriber] = listOf(found['data']?.['subscribers'])
        assert.deepEqual(
          [subscriber?.['email'], subscriber?.['status'], subscriber?.['version']],
          ['ann@x.example', 'active', 1],
        )
        assert.strictEqual((await call('GET', `/${id}`)).body['data']?.['enrolled_count'], 1)
      }
      const { rows } = await api.db.query<{ properties: object; isDue: boolean; hasStep: boolean }>(
        sql`
          SELECT properties, due_at <= now() AS "isDue", step IS NOT NULL AS "hasStep"
          FROM enrolments
          WHERE automation_id = $1
        `,
        [one],
      )
      assert.deepEqual(rows, [{ properties: { price: 7 }, isDue: true, hasStep: true }])
    })
    it('of an unknown address have no effect', async () => {
      await waiting('unknown')
      const { status, body } = await track('nobody@x.example', 'unknown')
      assert.deepEqual([status, body['data']], [200, { enrolled: 0 }])
    })
    it('fifty concurrent events enrol one contact once, and fifty contacts once each', async () => {
      await addContact('fifty@x.example')
      const id = await waiting('fifty')
      const answers = await Promise.all(Array.from({ length: 50 }, () => track('fifty@x.example', 'fifty')))
      assert.strictEqual(
        answers.reduce((sum, { body }) => sum + Number(body['data']?.['enrolled']), 0),
        1,
      )
      await Promise.all(Array.from({ length: 50 }, (_, i) => addContact(`c${i}@x.example`)))
      const others = await Promise.all(Array.from({ length: 50 }, (_, i) => track(`c${i}@x.example`, 'fifty')))
      assert.strictEqual(
        others.reduce((sum, { body }) => sum + Number(body['data']?.['enrolled']), 0),
        50,
      )
      assert.strictEqual((await call('GET', `/get-automation/${id}`)).body['data']?.['enrolled_count'], 51)
    })
    it('accept every alias, and refuse invalid events', async () => {
      await addContact('names@x.example')
      for (const field of ['event_name', 'eventName', 'event', 'name'])
        assert.strictEqual(
          (await call('POST', '/events/track', { email: 'names@x.example', [field]: 'x' })).status,
          200,
          field,
        )
      const wrong: readonly (readonly [body: object, path: string])[] = [
        [{ event_name: 'x' }, 'email'],
        [{ email: 'no', event_name: 'x' }, 'email'],
        [{ email: 'a@b.example' }, 'event_name'],
        [{ email: 'a@b.example', event_name: 'x'.repeat(256) }, 'event_name'],
        [{ email: 'a@b.example', event_name: 'x', properties: [] }, 'properties'],
        [{ email: 'a@b.example', event_name: 'x', properties: { a: 'x'.repeat(10_000) } }, 'properties'],
      ]
      for (const [body, path] of wrong) {
        const answer = await call('POST', '/events/track', body)
        assert.deepEqual(
          [errorOf(answer), pathsOf(answer)],
          [[400, 'VALIDATION_ERROR'], [path]],
          JSON.stringify(answer.body),
        )
      }
    })
    it('a contact that has finished can enrol again', async () => {
      await addContact('again@x.example')
      const id = await waiting('again')
      await track('again@x.example', 'again')
      await api.db.query(`UPDATE enrolments SET state = 'completed' WHERE automation_id = $1`, [id])
      assert.strictEqual((await track('again@x.example', 'again')).body['data']?.['enrolled'], 1)
      const { body } = await call('GET', `/${id}`)
      assert.deepEqual(
        ['enrolled_count', 'completed_count', 'active_count'].map((field) => body['data']?.[field]),
        [2, 1, 1],
      )
    })
    it('an enrolled contact keeps its version', async () => {
      await addContact('version@x.example')
      const id = await waiting('version')
      await track('version@x.example', 'version')
      await update(id, { steps: [{ type: 'delay', days: 1 }] })
      const { body } = await call('GET', `/${id}/subscribers`)
      assert.strictEqual(listOf(body['data']?.['subscribers'])[0]?.['version'], 1)
    })
  })

  describe('by hand', () => {
    const enrol = (id: string, email: string, key?: string): Promise<TestResponse> =>
      call('POST', `/add-automation/${id}/enroll`, { email }, key)
    const unenrol = (id: string, email: string, key?: string): Promise<TestResponse> =>
      call('DELETE', `/delete-automation/${id}/subscribers`, { email }, key)

    it('a contact is enrolled once and removed', async () => {
      await addContact('hand@x.example')
      const id = await waiting('hand')
      const first = await enrol(id, 'hand@x.example')
      assert.deepEqual([first.status, first.body['data']], [200, { enrolled: 1 }])
      const second = await enrol(id, 'HAND@x.example')
      assert.deepEqual([second.status, second.body['data']], [200, { enrolled: 0 }])
      const out = await unenrol(id, 'hand@x.example')
      assert.deepEqual([out.status, out.body['success'], typeof out.body['message']], [200, true, 'string'])
      assert.deepEqual(errorOf(await unenrol(id, 'hand@x.example')), [404, 'NOT_FOUND'])
      const { body } = await call('GET', `/${id}/subscribers?status=exited`)
      assert.deepEqual(
        listOf(body['data']?.['subscribers']).map((one) => [
          one['email'],
          one['reason'],
          one['next_step'],
          one['due_at'],
        ]),
        [['hand@x.example', 'unenrolled', null, null]],
      )
    })
    it('only a known contact, and only while the automation is active', async () => {
      await addContact('only@x.example')
      const id = idOf(await create({ steps: EXIT }))
      assert.deepEqual(errorOf(await enrol(id, 'only@x.example')), [409, 'CONFLICT'])
      await update(id, { status: 'active' })
      assert.deepEqual(errorOf(await enrol(id, 'nobody@x.example')), [404, 'NOT_FOUND'])
      assert.deepEqual(errorOf(await enrol(newId(), 'only@x.example')), [404, 'NOT_FOUND'])
      assert.deepEqual(errorOf(await enrol('x', 'only@x.example')), [404, 'NOT_FOUND'])
      assert.deepEqual(errorOf(await unenrol(id, 'only@x.example')), [404, 'NOT_FOUND'])
    })
    it('one with a date trigger starts at that date', async () => {
      await addContact('later@x.example')
      const id = idOf(
        await create({ trigger: { type: 'date_time', at: '2031-07-01T10:00:00Z' }, steps: EXIT, status: 'active' }),
      )
      assert.strictEqual((await enrol(id, 'later@x.example')).body['data']?.['enrolled'], 1)
      const { body } = await call('GET', `/${id}/subscribers`)
      assert.strictEqual(listOf(body['data']?.['subscribers'])[0]?.['due_at'], '2031-07-01T10:00:00.000Z')
    })
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

  it('an error in a mail step names its path', async () => {
    const broken = { type: 'send_email', subject: 'S', body: '<p>{{#if}}</p>', from: `me@${api.domain}` }
    assert.deepEqual(pathsOf(await create({ steps: [{ type: 'exit' }, broken] })), ['steps.1.body'])
    const id = idOf(await create({}))
    assert.deepEqual(pathsOf(await update(id, { steps: [broken] })), ['steps.0.body'])
  })

  it('a mail step has HTML and a text part; text alone is its body', async () => {
    const from = `me@${api.domain}`
    const answer = await create({
      steps: [
        { type: 'send_email', id: 'both', subject: 'S', html: '<p>H</p>', text: 'T', from },
        { type: 'send_email', id: 'alone', subject: 'S', text: 'A', from },
      ],
    })
    const said = listOf(answer.body['data']?.['steps']).map((step) => [step['id'], step['body'], step['text']])
    assert.deepEqual(said, [
      ['both', '<p>H</p>', 'T'],
      ['alone', 'A', undefined],
    ])
    const { rows } = await api.db.query(
      sql`
        SELECT c.step, k.html, k.body_text AS text
        FROM automation_contents c
        JOIN mail_contents k ON k.id = c.content_id
        WHERE c.automation_id = $1
      `,
      [idOf(answer)],
    )
    assert.deepEqual(rows, [{ step: 'both', html: '<p>H</p>', text: 'T' }])
    assert.strictEqual((await call('DELETE', `/delete-automation/${idOf(answer)}`)).status, 204)
  })

  it('inline bodies are compiled once per version, and deleted with the draft', async () => {
    await api.call('POST', '/templates/partials/save', { body: { name: 'foot', body: '<p class="f">Foot</p>' } })
    await api.call('POST', '/templates/partials/save', { body: { name: 'bye', body: 'Bye {{name}}' } })
    const mail = (body: string): object => ({
      type: 'send_email',
      subject: 'Hi {{name}}',
      body,
      from: `me@${api.domain}`,
    })
    const styled = '<style>.f { color: red }</style><p>One</p>{{> foot}}'
    const id = idOf(
      await create({
        steps: [
          mail(styled),
          mail('<p>plain</p>'),
          mail('text {{> bye}}'),
          mail('<mjml><mj-body><mj-section><mj-column><mj-text>M</mj-text></mj-column></mj-section></mj-body></mjml>'),
        ],
      }),
    )
    interface Row {
      readonly version: number
      readonly subject: string
      readonly html: string | null
      readonly body_text: string | null
      readonly content_id: string
    }
    const stored = async (): Promise<Row[]> =>
      (
        await api.db.query<Row>(
          sql`
            SELECT c.version, k.subject, k.html, k.body_text, c.content_id
            FROM automation_contents c
            JOIN mail_contents k ON k.id = c.content_id
            WHERE c.automation_id = $1
            ORDER BY c.version, k.id
          `,
          [id],
        )
      ).rows
    const [html, text, mjml, ...more] = await stored()
    assert.strictEqual(more.length, 0)
    assert.match(html?.html ?? '', /<p style="color: red;?" class="f">Foot<\/p>/)
    assert.deepEqual([html?.subject, text?.html, text?.body_text], ['Hi {{name}}', null, 'text Bye {{name}}'])
    assert.match(mjml?.html ?? '', /<table/)
    await update(id, { steps: [{ ...mail(styled), id: 'm' }] })
    await update(id, { steps: [{ ...mail(styled), id: 'm' }], name: 'Same steps' })
    assert.deepEqual(
      (await stored()).map(({ version }) => version),
      [1, 1, 1, 2],
    )
    assert.deepEqual(pathsOf(await update(id, { steps: [mail('{{> nothing}}')] })), ['steps.0.body'])
    const contents = (await stored()).map((row) => row.content_id)
    assert.strictEqual((await call('DELETE', `/delete-automation/${id}`)).status, 204)
    assert.strictEqual(
      (await api.db.query('SELECT FROM mail_contents WHERE id = ANY ($1::uuid[])', [contents])).rowCount,
      0,
    )
  })

  it('a dry run walks one contact through without effects', async () => {
    await addContact('dry@people.example')
    const steps = [
      { type: 'send_email', id: 'm', subject: 'S', body: 'B', from: 'me@elsewhere.example' },
      { type: 'delay', id: 'd', days: 2 },
      {
        type: 'condition',
        id: 'q',
        condition: { type: 'opened', step: 'm' },
        yes: [{ type: 'add_tag', id: 't', tag: 'keen' }],
        no: [],
      },
      { type: 'wait_for_event', id: 'w', event_name: 'paid', days: 1, yes: [{ type: 'exit', id: 'x' }], no: [] },
    ]
    const id = idOf(await create({ steps }))
    const rehearse = async (fields: object): Promise<readonly unknown[]> => {
      const { status, body } = await call('POST', `/${id}/dry-run`, { email: 'Dry@People.example', ...fields })
      assert.strictEqual(status, 200, JSON.stringify(body))
      const data = body['data'] as Json
      return [
        ...listOf(data['steps']).map(
          (step) => `${textOf(step['id'])}${step['answer'] === null ? '' : `=${JSON.stringify(step['answer'])}`}`,
        ),
        data['ends'],
      ]
    }
    assert.deepEqual(await rehearse({}), ['m', 'd', 'q=false', 'w=false', 'completed'])
    assert.deepEqual(await rehearse({ opened: true, events: ['paid'] }), [
      'm',
      'd',
      'q=true',
      't',
      'w=true',
      'x',
      'exited',
    ])
    const { body } = await call('POST', `/${id}/dry-run`, { email: 'dry@people.example' })
    assert.match(textOf(listOf(body['data']?.['steps'])[0]?.['obstacle']), /not an address of a verified domain/)
    const {
      rows: [left],
    } = await api.db.query(
      sql`
        SELECT (SELECT count(*)::int FROM enrolments WHERE automation_id = $1) AS e,
          (SELECT count(*)::int FROM mail_contents) AS c
      `,
      [id],
    )
    assert.deepEqual(left, { e: 0, c: 0 })
    assert.deepEqual(errorOf(await call('POST', `/${id}/dry-run`, { email: 'nobody@people.example' })), [
      404,
      'NOT_FOUND',
    ])
    assert.deepEqual(listOf((await call('GET', `/${id}/calls`)).body['data']?.['calls']), [])
    assert.deepEqual(listOf((await call('GET', `/${id}`)).body['data']?.['step_counts']), [])
  })
})
