/** Templates over HTTP: versions, partials, previews, checks and test messages. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

const MJML = `<mjml><mj-body>
{{#if vip}}<mj-section><mj-column><mj-text>For the best</mj-text></mj-column></mj-section>{{/if}}
<mj-section background-color="{{colour}}"><mj-column><mj-text>Hi {{default firstName "you"}}</mj-text>
<mj-button href="{{unsubscribeUrl}}">Bye</mj-button></mj-column></mj-section>
</mj-body></mjml>`

describe('templates before they are sent', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  let n = 0
  const post = (path: string, body: object, key = api.admin): Promise<TestResponse> =>
    api.call('POST', `/templates${path}`, { key, body })
  const save = (fields: object, key = api.admin): Promise<TestResponse> =>
    post('/save', { name: `T ${n++}`, subject: 'Hello {{firstName}}', body: '<p>Hi {{firstName}}</p>', ...fields }, key)
  const idOf = ({ body }: TestResponse): string => textOf((body['data'] as Json)['id'])
  const dataOf = (answer: TestResponse): Json => {
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return answer.body['data'] as Json
  }
  const get = (path: string, key = api.admin): Promise<TestResponse> => api.call('GET', `/templates${path}`, { key })

  it('store every version with the versions of its partials', async () => {
    const id = idOf(await save({ text: 'Hi', sample_data: { a: 1 } }))
    await save({ id, name: 'Second', body: MJML })
    const list = dataOf(await get(`/${id}/versions`))
    assert.deepEqual(
      listOf(list['versions']).map((one) => [one['version'], one['format']]),
      [
        [2, 'mjml'],
        [1, 'html'],
      ],
    )
    const first = dataOf(await get(`/${id}/versions/1`))
    assert.deepEqual(
      [first['body'], first['text'], first['compiled']],
      [
        '<p>Hi {{firstName}}</p>',
        'Hi',
        { subject: 'Hello {{firstName}}', html: '<p>Hi {{firstName}}</p>', text: 'Hi' },
      ],
    )
    const second = dataOf(await get(`/${id}`))
    assert.deepEqual(
      [second['name'], second['body'], second['text'], second['sample_data']],
      ['Second', MJML, 'Hi', { a: 1 }],
    )
    assert.match(
      textOf((second['compiled'] as Json)['html']),
      /^<!doctype html>[^]*\{\{#if vip\}\}[^]*For the best[^]*\{\{\/if\}\}[^]*background:\{\{colour\}\}/,
    )
    for (const path of [`/${id}/versions/3`, `/${id}/versions/0`, `/${id}/versions/x`, '/x/versions', '/x/versions/1'])
      assert.strictEqual((await get(path)).status, 404)
  })

  it('are refused with the line of the MJML error', async () => {
    const { status, body } = await save({
      body: '<mjml><mj-body>\n<mj-section><mj-colum></mj-colum></mj-section></mj-body></mjml>',
    })
    assert.deepEqual([status, body['error']], [400, 'INVALID_TEMPLATE'])
    assert.match(textOf(body['message']), /the body, line 2: Element mj-colum doesn't exist/)
  })

  it('share partials: a changed partial creates a next version of each template; the previous one stays', async () => {
    assert.strictEqual((await save({ body: '<p>x</p>{{> nothing}}' })).body['error'], 'INVALID_TEMPLATE')
    assert.strictEqual(
      dataOf(await post('/partials/save', { name: 'footer', body: '<p>Old {{company}}</p>' }))['version'],
      1,
    )
    const id = idOf(await save({ body: '<p>Hi</p>\n{{> footer}}' }))
    const saved = dataOf(await post('/partials/save', { name: 'footer', body: '<p>New</p>' }))
    assert.deepEqual(
      [saved['version'], saved['uses'], listOf(saved['templates']).map((one) => [one['id'], one['version']])],
      [2, 1, [[id, 2]]],
    )
    const html = async (version: number): Promise<unknown> =>
      (dataOf(await get(`/${id}/versions/${version}`))['compiled'] as Json)['html']
    assert.deepEqual([await html(1), await html(2)], ['<p>Hi</p>\n<p>Old {{company}}</p>', '<p>Hi</p>\n<p>New</p>'])
    assert.deepEqual(dataOf(await get(`/${id}`))['partials'], [{ name: 'footer', version: 2 }])
    const remove = (): Promise<TestResponse> => api.call('DELETE', '/templates/partials/footer', { key: api.admin })
    assert.deepEqual(
      [
        (await remove()).status,
        (await save({ id, body: 'none' })).status,
        (await remove()).status,
        (await remove()).status,
      ],
      [409, 200, 204, 404],
    )
    assert.strictEqual(await html(2), '<p>Hi</p>\n<p>New</p>')
  })

  it('a partial is refused for its own errors and for errors it causes in a template', async () => {
    await post('/partials/save', {
      name: 'head',
      body: '<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>',
    })
    await save({ name: 'Letter', body: '<mjml><mj-body>{{> head}}</mj-body></mjml>' })
    const cases: readonly [body: string, reason: RegExp][] = [
      ['{{> head}}', /cannot contain partials/],
      ['{{#if a}}', /the partial, line 1: cannot be read/],
      ['\n{{foo bar}}', /the partial, line 2: unknown helper/],
      [
        '<mj-section>\n<mj-tex>x</mj-tex></mj-section>',
        /the template "Letter" cannot be compiled with it: the body, line 2 of the partial head: /,
      ],
    ]
    for (const [body, reason] of cases) {
      const answer = await post('/partials/save', { name: 'head', body })
      assert.strictEqual(answer.body['error'], 'INVALID_TEMPLATE')
      assert.match(textOf(answer.body['message']), reason)
    }
    assert.strictEqual(dataOf(await get('/partials/head'))['version'], 1)
    assert.deepEqual(
      listOf(dataOf(await get('/partials'))['partials']).map((one) => [one['name'], one['uses']]),
      [['head', 1]],
    )
    assert.strictEqual((await post('/partials/save', { name: 'no name', body: 'x' })).body['error'], 'VALIDATION_ERROR')
  })

  it('are previewed with sample data or a contact, stored or unsaved', async () => {
    const audience = await api.call('POST', '/public/audiences/add-audience', { key: api.admin, body: { name: 'A' } })
    const audience_id = textOf((audience.body['data'] as Json)['id'])
    const contact = { email: 'grace@x.example', first_name: 'Grace', audience_id, custom_attributes: { plan: 'gold' } }
    const added = await api.call('POST', '/public/contacts/add-contact', { key: api.admin, body: contact })
    const contact_id = textOf((added.body['data'] as Json)['id'])
    const id = idOf(
      await save({
        body: '<p>{{firstName}} {{plan}} {{code}} <a href="{{unsubscribeUrl}}">bye</a></p>',
        sample_data: { code: 'X1', firstName: 'Sam' },
      }),
    )
    const plain = dataOf(await post('/preview', { id }))
    assert.deepEqual(
      [plain['template'], plain['subject'], plain['html']],
      [{ id, version: 1 }, 'Hello Sam', '<p>Sam  X1 <a href="https://example.com/unsubscribe">bye</a></p>'],
    )
    assert.deepEqual([plain['text'], plain['text_is_made']], ['Sam X1 bye [https://example.com/unsubscribe]', true])
    const filled = dataOf(await post('/preview', { id, contact_id, params: { code: 'X2' } }))
    assert.match(textOf(filled['html']), /^<p>Grace gold X2 /)
    assert.strictEqual(
      dataOf(await post('/preview', { subject: 's', body: '<style>p { color: red }</style><p>{{firstName}}</p>' }))[
        'html'
      ],
      '<style>p { color: red }</style><p style="color: red;">Ada</p>',
    )
    const other = await api.addTenant()
    assert.deepEqual(
      [
        (await post('/preview', { id }, other.admin)).status,
        (await post('/preview', { subject: 's', body: 'b', contact_id }, other.admin)).status,
      ],
      [404, 404],
    )
    assert.deepEqual(
      [(await post('/preview', {})).status, (await post('/preview', { subject: 's', body: '{{#if' })).body['error']],
      [400, 'INVALID_TEMPLATE'],
    )
    const names = listOf(dataOf(await post('/check', { id }))['findings']).map((one) => one['message'])
    assert.deepEqual(names, ['there is no text part; one is generated from the HTML'])
  })

  it('are checked: every finding has its location', async () => {
    const body =
      '<p>{{firstName}}\n{{nobody}}</p><img src="x">{{#if a}}<a href="{{unsubscribeUrl}}">x</a>{{/if}}' +
      'x'.repeat(110_000)
    const data = dataOf(await post('/check', { subject: '{{who}}', body }))
    assert.deepEqual(
      listOf(data['findings']).map(({ rule, level, part, line }) => [rule, level, part, line]),
      [
        ['too-large', 'warning', 'body', null],
        ['missing-text-part', 'warning', null, null],
        ['missing-unsubscribe-url', 'campaign', null, null],
        ['undeclared-variable', 'warning', 'subject', 1],
        ['undeclared-variable', 'warning', 'body', 2],
        ['undeclared-variable', 'warning', 'body', 2],
        ['image-without-alt', 'warning', 'body', 2],
      ],
    )
    assert.deepEqual([data['may_be_sent'], data['may_be_campaign']], [true, false])
    assert.deepEqual(
      listOf(dataOf(await post('/check', { subject: 's', body: '{{#if' }))['findings']).map(({ rule }) => rule),
      ['cannot-be-saved'],
    )
  })

  it('are sent as a test message like any other, marked as a test', async () => {
    const id = idOf(await save({ body: '<p>{{firstName}}</p>' }))
    await save({ id, body: '<p>Second {{firstName}}</p>' })
    const test = (body: object, key = api.regular): Promise<TestResponse> =>
      post(`/${id}/test`, { from: `me@${api.domain}`, to: ['a@b.example', 'c@d.example'], ...body }, key)
    const sent = await test({ version: 1, params: { firstName: 'Eve' } })
    assert.strictEqual(sent.status, 200, JSON.stringify(sent.body))
    const shown = await api.call('GET', `/public/emails/get-email?id=${textOf(sent.body['id'])}`, { key: api.regular })
    const data = shown.body['data'] as Json
    assert.deepEqual(
      [data['subject'], data['template'], data['tags']],
      ['[Test] Hello Eve', { id, version: 1, is_test: true }, ['test']],
    )
    const {
      rows: [row],
    } = await api.db.query<{ html: string }>(
      `SELECT b.html FROM messages JOIN message_bodies b ON message_id = id WHERE subject = '[Test] Hello Eve'`,
    )
    assert.strictEqual(row?.html, '<p>Eve</p>')
    assert.deepEqual(
      [
        (await test({}, api.admin)).status,
        (await test({ to: [] })).status,
        (await test({ version: 9 })).status,
        (await test({ from: 'x@else.example' })).status,
      ],
      [403, 400, 404, 403],
    )
    const normal = await api.call('POST', '/send-email/instant', {
      key: api.regular,
      body: { from: `me@${api.domain}`, to: 'a@b.example', template_id: id },
    })
    const stored = await api.call('GET', `/public/emails/get-email?id=${textOf(normal.body['id'])}`, {
      key: api.regular,
    })
    assert.deepEqual((stored.body['data'] as Json)['template'], { id, version: 2, is_test: false })
  })

  it('are named by mail with deferred content, too', async () => {
    const sent = await api.call('POST', '/send-email/instant', {
      key: api.regular,
      body: { from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'b' },
    })
    const template = async (): Promise<unknown> =>
      (
        (await api.call('GET', `/public/emails/get-email?id=${textOf(sent.body['id'])}`, { key: api.regular })).body[
          'data'
        ] as Json
      )['template']
    assert.strictEqual(await template(), null)
    const [content, id] = [newId(), newId()]
    await api.db.query(
      sql`
        INSERT INTO mail_contents (id, workspace_id, template_id, template_version, subject, body_text)
        SELECT $1, workspace_id, $2, 7, 's', 'b'
        FROM messages
        WHERE id = $3
      `,
      [content, id, textOf(sent.body['email_id']).slice(3)],
    )
    await api.db.query('UPDATE messages SET content_id = $1 WHERE id = $2', [
      content,
      textOf(sent.body['email_id']).slice(3),
    ])
    assert.deepEqual(await template(), { id, version: 7, is_test: false })
  })

  it('of another workspace are 404', async () => {
    const other = await api.addTenant()
    const id = idOf(await save({ name: 'Mine' }))
    await post('/partials/save', { name: 'mine', body: 'secret' })
    const answers = [
      await get(`/${id}/versions`, other.admin),
      await get(`/${id}/versions/1`, other.admin),
      await get('/partials/mine', other.admin),
      await post('/check', { id }, other.admin),
      await post(`/${id}/test`, { to: 'a@b.example' }, other.regular),
    ]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 404, 404],
    )
    assert.deepEqual(dataOf(await get('/partials', other.admin))['partials'], [])
    assert.strictEqual((await save({ body: 'x {{> mine}}' }, other.admin)).body['error'], 'INVALID_TEMPLATE')
  })
})
