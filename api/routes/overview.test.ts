/** The queue of a workspace, what needs attention there, and its first steps; of another workspace nothing. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addSignedIn } from '#test/support/people.ts'

type SignedIn = Awaited<ReturnType<typeof addSignedIn>>

describe('the overview of a workspace', () => {
  let api: TestApi
  let developer: SignedIn
  let viewer: SignedIn
  before(async () => {
    api = await startApi()
    developer = await addSignedIn(api, { role: 'developer' })
    viewer = await addSignedIn(api, { role: 'viewer' })
  })
  after(() => api.stop())

  const send = (tier: string, to: string): Promise<TestResponse> =>
    developer.call('POST', `/send-email/${tier}`, {
      body: { from: `shop@${api.domain}`, to, subject: 'Hello', text: 'Hello' },
    })

  it('counts and lists what waits, for people and keys', async () => {
    const other = await api.addTenant()
    await send('high', 'anna@first.example')
    await send('bulk', 'anna@first.example')
    await send('bulk', 'bert@second.example')
    const counts = async (query: string): Promise<unknown> => {
      const { body } = await viewer.call('GET', `/public/queue/counts?${query}`)
      return listOf(body['data']?.['counts']).map((one) => [textOf(one['name']), Number(one['count'])])
    }
    assert.deepEqual(await counts(''), [
      ['bulk', 2],
      ['high', 1],
    ])
    assert.deepEqual(await counts('by=domain'), [
      ['first.example', 2],
      ['second.example', 1],
    ])
    assert.deepEqual(await counts('by=domain&tier=high'), [['first.example', 1]])
    const listed = await viewer.call('GET', '/public/queue?domain=second.example')
    assert.deepEqual(
      listOf(listed.body['data']?.['recipients']).map((one) => textOf(one['recipient'])),
      ['bert@second.example'],
    )
    for (const path of ['/public/queue', '/public/queue/counts']) {
      const { body } = await api.call('GET', path, { key: other.admin })
      assert.lengthOf(listOf(body['data']?.['recipients'] ?? body['data']?.['counts']), 0, path)
    }
    assert.equal((await viewer.call('GET', '/public/queue?workspace=x')).status, 200, 'an unknown field is ignored')
    assert.equal((await viewer.call('GET', '/public/queue?tier=x')).status, 400)
  })

  it('says what needs attention, as far as the role may read it', async () => {
    await api.db.query(`UPDATE domains SET verification_status = 'degraded' WHERE workspace_id = $1 AND domain = $2`, [
      api.workspaceId,
      api.domain,
    ])
    await api.db.query(
      sql`
        INSERT INTO webhook_endpoints (id, workspace_id, url, event_types, secret, is_active, disabled_reason)
        VALUES (gen_random_uuid(), $1, 'https://hooks.example/', '{email.sent}', '', false, '410 Gone')
      `,
      [api.workspaceId],
    )
    const kindsOf = async (person: SignedIn): Promise<string[]> => {
      const { body } = await person.call('GET', '/public/attention')
      return listOf(body['data']?.['items']).map((one) => textOf(one['kind']))
    }
    assert.sameMembers(await kindsOf(developer), ['domain-degraded', 'webhook-disabled'])
    assert.sameMembers(await kindsOf(viewer), ['domain-degraded'])
  })

  it('has the steps of a new workspace', async () => {
    const { workspaceId } = await api.addTenant()
    await api.db.query('DELETE FROM api_keys WHERE workspace_id = $1', [workspaceId])
    await api.db.query('DELETE FROM domains WHERE workspace_id = $1', [workspaceId])
    const owner = await addSignedIn(api, { role: 'owner', workspaceId })
    const steps = async (): Promise<unknown> => {
      const { body } = await owner.call('GET', '/public/checklist', { workspace: workspaceId })
      return listOf(body['data']?.['steps']).map((one) => one['is_done'])
    }
    assert.deepEqual(await steps(), [false, false, false, false, false])
    await owner.call('POST', '/public/domains/add-domain', {
      workspace: workspaceId,
      body: { domain: 'first-steps.example' },
    })
    assert.deepEqual(await steps(), [true, false, false, false, false])
  })

  it('has the SMTP server of the service', async () => {
    const { body } = await viewer.call('GET', '/public/workspace')
    assert.equal(textOf(body['data']?.['smtp']?.['host']), new URL(api.config.publicUrl).hostname)
  })

  it('sends a test of a template in a session, with a From address', async () => {
    const saved = await developer.call('POST', '/templates/save', { body: { name: 'T', subject: 'S', body: 'B' } })
    const path = `/templates/${textOf(saved.body['data']?.['id'])}/test`
    await api.db.query(`UPDATE domains SET verification_status = 'verified' WHERE domain = $1`, [api.domain])
    const test = (body: object, person = developer): Promise<TestResponse> => person.call('POST', path, { body })
    const sent = await test({ to: 'anna@people.example', from: `shop@${api.domain}` })
    assert.equal(sent.status, 200, JSON.stringify(sent.body))
    assert.equal((await test({ to: 'anna@people.example', from: 'shop@unknown.example' })).status, 403)
    assert.equal((await test({ to: 'anna@people.example', from: `shop@${api.domain}` }, viewer)).status, 403)
  })

  it('checks the installation for operators only, once for all who ask', async () => {
    const operator = await addSignedIn(api, { isOperator: true })
    const read = (): Promise<TestResponse> => operator.call('GET', '/admin/checks', { workspace: null })
    const [first, second] = await Promise.all([read(), read()])
    assert.equal(first.status, 200, JSON.stringify(first.body))
    assert.deepEqual(textOf(first.body['data']?.['checked_at']), textOf(second.body['data']?.['checked_at']))
    const checks = listOf(first.body['data']?.['checks'])
    const postgres = checks.find((one) => textOf(one['name']) === 'PostgreSQL')
    assert.match(textOf(postgres?.['status']), /^(?:ok|warning)$/)
    assert.ok(checks.every((one) => textOf(one['why']) !== ''))
    assert.equal((await developer.call('GET', '/admin/checks', { workspace: null })).status, 403)
  })
})
