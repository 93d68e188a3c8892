/** "States and transitions": each row of each table, with the action that causes the transition. */
import { assert } from 'chai'
import { CAMPAIGN_STATES } from '#src/campaigns/state.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'

const CAMPAIGN_STATUS = ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED', 'SENT', 'COMPLETED', 'FAILED', 'CANCELLED']

describe('specification: states and transitions', () => {
  let api: TestApi
  let dns: TestDns
  before(async () => {
    dns = await startDns({})
    api = await startApi({ DNS_SERVERS: dns.server })
  })
  after(async () => {
    await api.stop()
    await dns.stop()
  })

  const call = (method: string, path: string, body?: object): Promise<TestResponse> =>
    api.call(method, path, { key: api.admin, ...(body === undefined ? {} : { body }) })
  const dataOf = ({ body }: TestResponse): Json => body['data'] ?? assert.fail(JSON.stringify(body))

  describe('campaign status', () => {
    it('has the eight values', () => assert.deepEqual(Object.keys(CAMPAIGN_STATES), CAMPAIGN_STATUS))
    it('(none) → DRAFT: created, not sent or scheduled', async () => {
      const answer = await call('POST', '/public/campaigns', { name: 'May' })
      assert.deepEqual([answer.status, dataOf(answer)['status']], [201, 'DRAFT'])
    })
  })

  describe('email status', () => {
    const message = (): object => ({ from: `me@${api.domain}`, to: ['a@b.example'], subject: 's', body: 'x' })
    it('(none) → queued: accepted by a send endpoint', async () => {
      const { body } = await api.call('POST', '/send-email/async', { body: message() })
      const found = await api.call('GET', `/public/emails/get-email?id=${textOf(body['id'])}`)
      assert.deepEqual([body['status'], dataOf(found)['status']], ['queued', 'queued'])
    })
    it('(none) → scheduled: accepted by the schedule endpoint', async () => {
      const at = new Date(Date.now() + 86_400_000).toISOString()
      const { body } = await api.call('POST', '/send-email/schedule', { body: { ...message(), scheduled_at: at } })
      const found = await api.call('GET', `/public/emails/get-email?id=${textOf(body['id'])}`)
      assert.deepEqual([body['status'], dataOf(found)['status']], ['scheduled', 'scheduled'])
    })
  })

  describe('domain verification_status', () => {
    it('(none) → pending: add-domain; dns_records returned', async () => {
      const data = dataOf(await call('POST', '/public/domains/add-domain', { domain: 'states.example' }))
      assert.strictEqual(data['verification_status'], 'pending')
      assert.ok(listOf(data['dns_records']).length > 0)
    })
    it('pending → verified: the required DNS records are found; verified_at set', async () => {
      const data = dataOf(await call('POST', '/public/domains/add-domain', { domain: 'found.example' }))
      for (const record of listOf(data['dns_records']))
        if (textOf(record['type']) === 'TXT') dns.zone[textOf(record['name'])] = { TXT: [textOf(record['value'])] }
      const id = textOf(data['id'])
      assert.strictEqual(dataOf(await call('POST', `/public/domains/verify-domain/${id}`, {}))['status'], 'verified')
      const status = dataOf(await call('GET', `/public/domains/domain-status/${id}`))
      assert.deepEqual([status['verification_status'], typeof status['verified_at']], ['verified', 'string'])
    })
  })

  describe('contact status within an audience', () => {
    let audience: string
    let token: string
    beforeEach(async () => {
      const data = dataOf(await call('POST', '/public/audiences/add-audience', { name: 'News' }))
      audience = textOf(data['id'])
      token = textOf(data['subscribeUrl']).split('/').at(-1) ?? ''
    })
    const subscribe = (email: string): Promise<TestResponse> =>
      api.call('POST', `//s/${token}`, { key: null, body: { email } })
    const add = (email: string): Promise<TestResponse> =>
      call('POST', '/public/contacts/add-contact', { email, audience_id: audience })
    const statusOf = async (email: string): Promise<unknown> =>
      dataOf(await call('GET', `/public/contacts/get-contact?email=${email}&audienceId=${audience}`))['status']
    // what the link in a mail does
    const unsubscribe = (email: string): Promise<unknown> =>
      api.db.query(
        sql`
          UPDATE memberships
          SET is_subscribed = false
          WHERE audience_id = $1 AND contact_id = (SELECT id FROM contacts WHERE email = $2 AND workspace_id = $3)
        `,
        [audience, email, api.workspaceId],
      )
    const members = async (): Promise<unknown> =>
      dataOf(await call('GET', `/public/contacts/get-contacts?audienceId=${audience}`))['total']

    it('(none) → subscribed: add-contact of a new contact', async () => {
      const answer = await add('one@b.example')
      assert.deepEqual([answer.status, Object.keys(dataOf(answer))], [201, ['id']])
      assert.strictEqual(await statusOf('one@b.example'), 'subscribed')
    })
    it('(none) → subscribed: the public form', async () => {
      const { status, body } = await subscribe('two@b.example')
      assert.deepEqual([status, body['success'], body['data']?.['status']], [200, true, 'subscribed'])
      assert.strictEqual(await statusOf('two@b.example'), 'subscribed')
    })
    it('unsubscribed → subscribed: the public form', async () => {
      await add('three@b.example')
      await unsubscribe('three@b.example')
      assert.strictEqual(await statusOf('three@b.example'), 'unsubscribed')
      await subscribe('three@b.example')
      assert.strictEqual(await statusOf('three@b.example'), 'subscribed')
    })
    it('unsubscribed stays so when add-contact comes again: only the person comes back', async () => {
      await add('four@b.example')
      await unsubscribe('four@b.example')
      assert.strictEqual((await add('four@b.example')).status, 201)
      assert.strictEqual(await statusOf('four@b.example'), 'unsubscribed')
    })
    it('subscribed → subscribed: the public form again, no duplicate', async () => {
      await add('five@b.example')
      await subscribe('five@b.example')
      assert.deepEqual([await statusOf('five@b.example'), await members()], ['subscribed', 1])
    })
    it('one contact of one email; another audience has a status of its own', async () => {
      const first = dataOf(await add('six@b.example'))['id']
      await unsubscribe('six@b.example')
      audience = textOf(dataOf(await call('POST', '/public/audiences/add-audience', { name: 'Other' }))['id'])
      assert.deepEqual(
        [dataOf(await add('six@b.example'))['id'], await statusOf('six@b.example')],
        [first, 'subscribed'],
      )
    })
  })

  describe('automation status', () => {
    it('(none) → draft: created; get-automation has it only when it is active', async () => {
      const data = dataOf(await call('POST', '/public/automations/create', { name: 'a', steps: [{ type: 'exit' }] }))
      const id = textOf(data['id'])
      assert.strictEqual(data['status'], 'draft')
      assert.strictEqual((await call('GET', `/public/automations/get-automation/${id}`)).status, 404)
      assert.strictEqual(
        (await call('PATCH', `/public/automations/update-automation/${id}`, { status: 'active' })).status,
        200,
      )
      assert.strictEqual((await call('GET', `/public/automations/get-automation/${id}`)).status, 200)
    })
  })
})
