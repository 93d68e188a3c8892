/** What a person does with mail in a session: send, schedule, change and cancel by role, and watch changes. */
import { assert } from 'chai'
import { startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { openEventStream } from '#test/support/event-stream.ts'
import { addSignedIn } from '#test/support/people.ts'
import { newId } from '#src/platform/id.ts'

type SignedIn = Awaited<ReturnType<typeof addSignedIn>>

describe('mail in a session', () => {
  let api: TestApi
  let developer: SignedIn
  before(async () => {
    api = await startApi()
    developer = await addSignedIn(api, { role: 'developer' })
  })
  after(() => api.stop())

  const mail = (domain: string): object => ({
    from: `shop@${domain}`,
    to: 'anna@people.example',
    subject: 'Hello',
    text: 'Hello',
  })
  const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString()
  const schedule = (person: SignedIn, domain = api.domain): Promise<TestResponse> =>
    person.call('POST', '/send-email/schedule', { body: { ...mail(domain), scheduled_at: inAnHour() } })

  describe('is sent, scheduled, changed and cancelled', () => {
    it('by a developer, from a domain of the workspace', async () => {
      const sent = await developer.call('POST', '/send-email/instant', { body: mail(api.domain) })
      assert.equal(sent.status, 200, JSON.stringify(sent.body))
      const scheduled = await schedule(developer)
      assert.equal(scheduled.status, 200, JSON.stringify(scheduled.body))
      const id = textOf(scheduled.body['data']?.['id'])
      const path = `/send-email/schedule/${id}`
      const changed = await developer.call('PATCH', path, { body: { subject: 'Other' } })
      assert.equal(changed.status, 200, JSON.stringify(changed.body))
      assert.equal((await developer.call('DELETE', path)).status, 200)
      const { rows } = await api.db.query('SELECT FROM messages WHERE workspace_id = $1 AND api_key_id IS NULL', [
        api.workspaceId,
      ])
      assert.lengthOf(rows, 2)
    })
    it('not from another domain, and not from one of another workspace', async () => {
      const other = await api.addTenant()
      for (const domain of ['unknown.example', other.domain]) {
        const answers = [
          await developer.call('POST', '/send-email/instant', { body: mail(domain) }),
          await schedule(developer, domain),
        ]
        for (const { status, body } of answers)
          assert.deepEqual([status, /has no domain/.test(textOf(body['message']))], [403, true], domain)
      }
    })
    it('not from a domain that is not verified, and not without From', async () => {
      const pending = `${newId()}.example`
      await api.db.query(`INSERT INTO domains (id, workspace_id, domain) VALUES ($1, $2, $3)`, [
        newId(),
        api.workspaceId,
        pending,
      ])
      const answer = await developer.call('POST', '/send-email/instant', { body: mail(pending) })
      assert.match(textOf(answer.body['message']), /is not verified/)
      const { status } = await developer.call('POST', '/send-email/instant', {
        body: { to: 'anna@people.example', subject: 'Hello', text: 'Hello' },
      })
      assert.equal(status, 400)
    })
    it('not by a marketer or viewer, who may not cancel either', async () => {
      const id = textOf((await schedule(developer)).body['data']?.['id'])
      for (const role of ['marketer', 'viewer'] as const) {
        const person = await addSignedIn(api, { role })
        const answers = [
          await person.call('POST', '/send-email/instant', { body: mail(api.domain) }),
          await schedule(person),
          await person.call('DELETE', `/send-email/schedule/${id}`),
        ]
        assert.deepEqual(
          answers.map(({ status }) => status),
          [403, 403, 403],
          role,
        )
      }
    })
    it('not beyond the plan, and not in a workspace of others', async () => {
      const free = await api.addTenant({ plan: 'free' })
      const owner = await addSignedIn(api, { role: 'owner', workspaceId: free.workspaceId })
      const body = { ...mail(free.domain), scheduled_at: inAnHour() }
      const refused = await owner.call('POST', '/send-email/schedule', { body, workspace: free.workspaceId })
      assert.deepEqual([refused.status, textOf(refused.body['error'])], [403, 'PLAN_REQUIRED'])
      const foreign = await developer.call('POST', '/send-email/schedule', { body, workspace: free.workspaceId })
      assert.equal(foreign.status, 404)
    })
  })

  describe('changes are streamed to EventSource, which sends no X-Workspace', () => {
    const open = (person: SignedIn, query: string, headers: Record<string, string> = {}) =>
      openEventStream(`${api.url}/api/v1/public/changes${query}`, {
        key: null,
        headers: { cookie: person.cookie, 'sec-fetch-site': 'same-origin', ...headers },
      })
    it('of the workspace in the query', async () => {
      const stream = await open(developer, `?topics=domains&workspace=${api.workspaceId}`)
      try {
        assert.equal(stream.status, 200, stream.text)
        await stream.next(({ type }) => type === 'ready')
        const id = newId()
        await api.db.query('INSERT INTO domains (id, workspace_id, domain) VALUES ($1, $2, $3)', [
          id,
          api.workspaceId,
          `${id}.example`,
        ])
        await stream.next(({ type, data }) => type === 'domains' && JSON.stringify(data).includes(id))
      } finally {
        stream.close()
      }
    })
    it('not of a workspace of others, of two at once, without a name, or to another site', async () => {
      const other = await api.addTenant()
      const own = `workspace=${api.workspaceId}`
      const cases: readonly [query: string, headers: Record<string, string>, status: number][] = [
        [`?workspace=${other.workspaceId}`, {}, 404],
        [`?workspace=${other.workspaceId}&${own}`, {}, 404],
        [`?${own}`, { 'x-workspace': other.workspaceId }, 404],
        ['', {}, 400],
        [`?${own}`, { 'sec-fetch-site': 'cross-site' }, 403],
      ]
      for (const [query, headers, status] of cases) {
        const stream = await open(developer, query, headers)
        stream.close()
        assert.equal(stream.status, status, query)
      }
    })
    it('and no other endpoint takes the workspace from the query', async () => {
      const path = `/public/members?workspace=${api.workspaceId}`
      assert.equal((await developer.call('GET', path, { workspace: null })).status, 400)
    })
    it('which ends with the session', async () => {
      const person = await addSignedIn(api, { role: 'viewer' })
      const stream = await open(person, `?workspace=${api.workspaceId}`)
      assert.equal(stream.status, 200)
      stream.close()
      await person.call('POST', '/auth/logout')
      const after = await open(person, `?workspace=${api.workspaceId}`)
      after.close()
      assert.equal(after.status, 401)
    })
  })
})
