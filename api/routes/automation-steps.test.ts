/** Steps of automations over HTTP: the contents of mail steps, and the dry run. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { automationCalls, errorOf, idOf, pathsOf } from './automations.test-data.ts'

describe('automations', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const { call, create, update, addContact } = automationCalls(() => api)

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
