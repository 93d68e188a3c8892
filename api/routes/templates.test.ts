import { assert } from 'chai'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

describe('templates', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const save = (fields: object, key = api.regular): Promise<TestResponse> =>
    api.call('POST', '/templates/save', {
      key,
      body: { name: 'Welcome', subject: 'Hello {{name}}', body: '<p>Hi {{name}}</p>', ...fields },
    })
  const send = (fields: object): Promise<TestResponse> =>
    api.call('POST', '/send-email/instant', { body: { from: `me@${api.domain}`, to: 'a@b.example', ...fields } })
  const idOf = ({ body }: TestResponse): string => textOf(body['data']?.['id'])
  async function sent({
    body,
  }: TestResponse): Promise<readonly [subject: string, html: string | null, text: string | null]> {
    const {
      rows: [row],
    } = await api.db.query<{ subject: string; html: string | null; body_text: string | null }>(
      'SELECT subject, b.html, b.body_text FROM messages JOIN message_bodies b ON message_id = id WHERE id = $1::uuid',
      [textOf(body['email_id']).slice(3)],
    )
    assert.ok(row !== undefined, JSON.stringify(body))
    return [row.subject, row.html, row.body_text]
  }

  it('are saved and listed with either key type', async () => {
    for (const key of [api.regular, api.admin]) {
      const { status, body } = await save({ description: 'd', category: 'c' }, key)
      const data = body['data'] as Json
      assert.deepEqual(
        [
          status,
          body['success'],
          data['name'],
          data['subject'],
          data['body'],
          data['description'],
          data['category'],
          data['version'],
        ],
        [200, true, 'Welcome', 'Hello {{name}}', '<p>Hi {{name}}</p>', 'd', 'c', 1],
      )
      const list = await api.call('GET', '/templates?limit=1', { key })
      assert.deepEqual(
        [list.status, listOf(list.body['data']?.['templates']).map((one) => one['id']), list.body['data']?.['limit']],
        [200, [data['id']], 1],
      )
    }
  })
  it('are saved with a warning if contacts have an attribute of nearly the same name', async () => {
    const tenant = await api.addTenant()
    const key = tenant.admin
    const audience = await api.call('POST', '/public/audiences/add-audience', { key, body: { name: 'A' } })
    const audience_id = textOf(audience.body['data']?.['id'])
    const contact = { email: 'ada@receiver.example', audience_id, custom_attributes: { Plan: 'pro' } }
    const added = await api.call('POST', '/public/contacts/add-contact', { key, body: contact })
    assert.isTrue(added.body['success'])
    const warningsOf = async (body: string, sample_data: object = {}): Promise<unknown> =>
      (await save({ body, sample_data }, key)).body['data']?.['warnings']
    const hint = 'No contact has the attribute "plan". Did you mean "Plan"?'
    assert.deepEqual(await warningsOf('{{plan}} {{attributes.plan}}'), [hint])
    assert.deepEqual(await warningsOf('{{attributes.colour}}'), ['No contact has the attribute "colour".'])
    assert.deepEqual(await warningsOf('{{Plan}} {{attributes.Plan}} {{code}} {{firstName}}'), [])
    assert.deepEqual(await warningsOf('{{plan}}', { plan: 'pro' }), [], 'the sample data declares it')
  })
  it('belong to one workspace', async () => {
    const other = await api.addTenant()
    const template_id = idOf(await save({}, other.admin))
    assert.strictEqual((await send({ template_id })).body['error'], 'INVALID_TEMPLATE')
    assert.strictEqual((await save({ id: template_id })).status, 404)
  })

  it('are read and deleted with either key type, in their workspace only', async () => {
    const other = await api.addTenant()
    for (const key of [api.regular, api.admin]) {
      const id = idOf(await save({}))
      const call = (method: string, by: string, path = `/templates/${id}`): Promise<TestResponse> =>
        api.call(method, path, { key: by })
      const { status, body } = await call('GET', key)
      assert.deepEqual([status, body['data']?.['id'], body['data']?.['body']], [200, id, '<p>Hi {{name}}</p>'])
      for (const method of ['GET', 'DELETE']) {
        assert.strictEqual((await call(method, other.admin)).status, 404)
        assert.strictEqual((await call(method, key, '/templates/x')).status, 404)
      }
      assert.deepEqual(
        [(await call('DELETE', key)).status, (await call('DELETE', key)).status, (await call('GET', key)).status],
        [204, 404, 404],
      )
    }
  })
  it('cannot be deleted while an automation or a campaign uses them: 409 CONFLICT', async () => {
    const id = idOf(await save({}))
    const remove = async (): Promise<number> => (await api.call('DELETE', `/templates/${id.toUpperCase()}`)).status
    const mail = { type: 'send_email', template_id: id, from: `me@${api.domain}` }
    const steps = [{ type: 'condition', condition: { type: 'has_tag', tag: 'x' }, no: [mail] }]
    const call = (path: string, method: string, body: object): Promise<TestResponse> =>
      api.call(method, `/public${path}`, { key: api.admin, body })
    const automation = idOf(await call('/automations/create', 'POST', { name: 'a', steps, status: 'active' }))
    const campaign = idOf(await call('/campaigns', 'POST', { name: 'c', template_id: id }))
    const usesOf = async (): Promise<unknown> =>
      listOf((await api.call('GET', '/templates?limit=100')).body['data']?.['templates']).find(
        (one) => textOf(one['id']) === id,
      )?.['used_by']
    assert.deepEqual(await usesOf(), { automations: 1, campaigns: 0 })
    assert.strictEqual(await remove(), 409)
    await call(`/automations/update-automation/${automation}`, 'PATCH', { status: 'archived' })
    await api.db.query(`UPDATE campaigns SET status = 'SENDING' WHERE id = $1`, [campaign])
    assert.deepEqual(await usesOf(), { automations: 0, campaigns: 1 })
    assert.strictEqual(await remove(), 409)
    await api.db.query(`UPDATE campaigns SET status = 'COMPLETED' WHERE id = $1`, [campaign])
    assert.strictEqual(await remove(), 204)
  })

  const RENDERED: readonly (readonly [
    rule: string,
    template: object,
    fields: object,
    expected: readonly [string, string | null, string | null],
  ])[] = [
    ['params', {}, { params: { name: 'Ann' } }, ['Hello Ann', '<p>Hi Ann</p>', null]],
    ['template_data', {}, { template_data: { name: 'Ann' } }, ['Hello Ann', '<p>Hi Ann</p>', null]],
    ['no params', {}, {}, ['Hello', '<p>Hi </p>', null]],
    [
      'a given subject takes precedence',
      {},
      { subject: 'Mine', params: { name: 'Ann' } },
      ['Mine', '<p>Hi Ann</p>', null],
    ],
    [
      'an empty body next to template_id is ignored',
      {},
      { body: '', html: null, params: { name: 'Ann' } },
      ['Hello Ann', '<p>Hi Ann</p>', null],
    ],
    ['params are escaped in HTML', {}, { params: { name: '<b>&' } }, ['Hello <b>&', '<p>Hi &lt;b&gt;&amp;</p>', null]],
    [
      'a line break in a param does not end the subject',
      {},
      { params: { name: 'Ann\r\nBcc: x@y.example' } },
      ['Hello Ann Bcc: x@y.example', '<p>Hi Ann\r\nBcc: x@y.example</p>', null],
    ],
    [
      'a text template stays text, unescaped',
      { body: 'Hi {{name}}, 1 < 2' },
      { params: { name: 'A & B' } },
      ['Hello A & B', null, 'Hi A & B, 1 < 2'],
    ],
    [
      'a text part is rendered in addition to the HTML',
      { text: 'T {{name}} &' },
      { params: { name: '<A>' } },
      ['Hello <A>', '<p>Hi &lt;A&gt;</p>', 'T <A> &'],
    ],
    [
      'is_html takes precedence',
      { body: 'Hi {{name}}' },
      { is_html: true, params: { name: '<' } },
      ['Hello <', 'Hi &lt;', null],
    ],
  ]
  for (const [rule, template, fields, expected] of RENDERED) {
    it(rule, async () => {
      const template_id = idOf(await save(template))
      const answer = await send({ template_id, ...fields })
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
      assert.deepEqual(await sent(answer), expected)
      assert.strictEqual(answer.body['subject'], expected[0])
    })
  }

  it('saving with an id creates the next version, which the next send uses', async () => {
    const id = idOf(await save({}))
    await send({ template_id: id, params: { name: 'Ann' } })
    const second = await save({ id, body: '<p>Bye {{name}}</p>' })
    assert.deepEqual([second.body['data']?.['id'], second.body['data']?.['version']], [id, 2])
    assert.deepEqual(await sent(await send({ template_id: id, params: { name: 'Ann' } })), [
      'Hello Ann',
      '<p>Bye Ann</p>',
      null,
    ])
  })

  it('versions are compared part by part with the one before, or another', async () => {
    const id = idOf(await save({ body: '<p>a</p>\n<p>b</p>' }))
    await save({ id, body: '<p>a</p>\n<p>c</p>' })
    await save({ id, body: '<p>a</p>\n<p>c</p>', subject: 'Hi' })
    const diff = async (path: string): Promise<unknown> => {
      const { status, body } = await api.call('GET', `/templates/${id}/versions/${path}`, { key: api.admin })
      return status === 200 ? listOf(body['data']?.['changes']) : status
    }
    const ofBody = {
      part: 'body',
      added: 1,
      removed: 1,
      hunks: [{ old_start: 1, new_start: 1, lines: [' <p>a</p>', '-<p>b</p>', '+<p>c</p>'] }],
    }
    const ofSubject = {
      part: 'subject',
      added: 1,
      removed: 1,
      hunks: [{ old_start: 1, new_start: 1, lines: ['-Hello {{name}}', '+Hi'] }],
    }
    assert.deepEqual(await diff('2/diff'), [ofBody])
    assert.deepEqual(await diff('3/diff?from=1'), [ofSubject, ofBody])
    assert.deepEqual(await diff('1/diff'), [])
    assert.deepEqual([await diff('4/diff'), await diff('2/diff?from=9'), await diff('2/diff?from=x')], [404, 404, 400])
  })
  it('a template that throws, never ends or renders no subject: 400 INVALID_TEMPLATE, nothing is stored', async () => {
    const nested = Array.from({ length: 9 }, () => '{{#each ../list}}').join('')
    const cases: readonly (readonly [template: object, params: object])[] = [
      [{ subject: '{{name}}' }, {}],
      [{ body: `{{#each list}}${nested}x${'{{/each}}'.repeat(10)}` }, { list: Array.from({ length: 50 }, () => 1) }],
    ]
    for (const [template, params] of cases) {
      const saved = await save(template)
      assert.strictEqual(saved.status, 200, JSON.stringify(saved.body))
      const {
        rows: [before],
      } = await api.db.query<{ n: number }>('SELECT count(*) AS n FROM messages')
      const { status, body } = await send({ template_id: idOf(saved), params })
      assert.deepEqual([status, body['error']], [400, 'INVALID_TEMPLATE'])
      assert.ok(textOf(body['message']).length > 30)
      assert.deepEqual((await api.db.query<{ n: number }>('SELECT count(*) AS n FROM messages')).rows, [before])
    }
  })

  const REFUSED: readonly (readonly [why: string, fields: object, error: string])[] = [
    ['no name', { name: undefined }, 'VALIDATION_ERROR'],
    ['no subject', { subject: undefined }, 'VALIDATION_ERROR'],
    ['no body', { body: '' }, 'VALIDATION_ERROR'],
    ['a name with a line break', { name: 'a\nb' }, 'VALIDATION_ERROR'],
    ['an invalid id', { id: 'x' }, 'VALIDATION_ERROR'],
    ['an unclosed block', { body: '{{#if a}}' }, 'INVALID_TEMPLATE'],
    ['an unknown helper', { body: '{{explode a}}' }, 'INVALID_TEMPLATE'],
  ]
  for (const [why, fields, error] of REFUSED) {
    it(`${why}: 400 ${error}`, async () => {
      const { status, body } = await save(fields)
      assert.deepEqual([status, body['error']], [400, error], JSON.stringify(body))
    })
  }
})
