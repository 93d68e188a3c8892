/** The client is what the OpenAPI document says now, and does on a real server what its methods promise. */
import { readFileSync } from 'node:fs'
import { assert, expect } from 'chai'
import { startApi, type TestApi } from '#test/support/api.ts'
import { CLIENT_FILE, generate } from './generate.ts'
import { Mailstead, MailsteadError, readPages } from './mailstead.ts'

describe('the generated client', () => {
  it('is up to date: `node clients/typescript/generate.ts` makes it', () =>
    assert.strictEqual(
      readFileSync(CLIENT_FILE, 'utf8') === generate(),
      true,
      'run node clients/typescript/generate.ts',
    ))

  describe('on a server', () => {
    let api: TestApi
    let sender: Mailstead
    let admin: Mailstead
    before(async () => {
      api = await startApi()
      sender = new Mailstead({ baseUrl: api.url, apiKey: api.regular })
      admin = new Mailstead({ baseUrl: `${api.url}/`, apiKey: api.admin })
    })
    after(() => api.stop())

    it('makes an audience, adds a contact, finds, changes and deletes it', async () => {
      const { data: audience } = await admin.addAudience({ body: { name: 'News' } })
      const { data: added } = await admin.addContact({
        body: {
          email: 'anna+x@example.org',
          audience_id: audience.id,
          first_name: 'Anna',
          tags: ['a', 'b'],
          custom_attributes: { cake: true },
        },
      })
      const { data: contact } = await admin.getContact({
        query: { email: 'anna+x@example.org', audienceId: audience.id },
      })
      assert.deepEqual(
        [contact.id, contact.firstName, contact.status, contact.tags],
        [added.id, 'Anna', 'subscribed', ['a', 'b']],
      )
      await admin.updateContact({ query: { id: added.id }, body: { first_name: null } })
      const { data: page } = await admin.getContacts({ query: { audienceId: audience.id, limit: 10, sortBy: 'email' } })
      assert.deepEqual([page.total, page.contacts[0]?.firstName], [1, null])
      const deleted = await admin.deleteContact({ query: { id: added.id } })
      assert.deepEqual(deleted.data, { id: added.id })
      assert.strictEqual(await admin.deleteAudience({ query: { id: audience.id } }), undefined)
      await expect(admin.getAudience({ query: { id: audience.id } })).to.be.rejected.and.eventually.have.property(
        'code',
        'NOT_FOUND',
      )
    })
    it('reads a list to its end by cursor', async () => {
      for (const name of ['one', 'two', 'three']) await admin.addAudience({ body: { name } })
      const names: string[] = []
      for await (const { data } of readPages((cursor) => admin.getAudiences({ query: { cursor, limit: 2 } })))
        names.push(...data.audiences.map(({ name }) => name))
      assert.deepEqual(names, ['three', 'two', 'one'])
      let domains = 0
      for await (const { data } of readPages((cursor) => admin.getDomains({ query: { cursor } })))
        domains += data.length
      assert.strictEqual(domains, 1)
    })
    it('sends, under one key once, and sees what became of it', async () => {
      const body = { from: `shop@${api.domain}`, to: ['anna@example.org'], subject: 'Your order', html: '<p>Hello</p>' }
      const sent = await sender.sendInstant({ body }, { idempotencyKey: 'order-1' })
      const again = await sender.sendInstant({ body }, { idempotencyKey: 'order-1' })
      assert.deepEqual([sent.status, again.id], ['queued', sent.id])
      const { data: found } = await sender.getEmail({ query: { id: sent.email_id } })
      assert.deepEqual([found.status, found.recipients.map(({ address }) => address)], ['queued', ['anna@example.org']])
      const batch = await sender.sendBatch({ body: { messages: [body, { ...body, to: [] }] } })
      assert.deepEqual(
        batch.data.results.map(({ success }) => success),
        [true, false],
      )
    })
    it('schedules, and takes back', async () => {
      const at = new Date(Date.now() + 86_400_000).toISOString()
      const email = { from: `shop@${api.domain}`, to: 'anna@example.org', subject: 's', text: 'x' }
      const { id } = await sender.scheduleEmail({ body: { scheduled_at: at, email } })
      assert.strictEqual((await sender.listScheduled()).data.total, 1)
      assert.strictEqual((await sender.cancelScheduled({ params: { id } })).data.status, 'cancelled')
    })
    it('tells what is wrong, field by field', async () => {
      const wrong = sender.sendInstant({
        body: { from: `shop@${api.domain}`, to: ['nonsense'], subject: 's', text: 'x' },
      })
      const error: unknown = await wrong.then(
        () => null,
        (thrown: unknown) => thrown,
      )
      assert.ok(error instanceof MailsteadError)
      assert.deepEqual([error.status, error.code, error.details[0]?.path], [400, 'VALIDATION_ERROR', 'to.0'])
      assert.match(error.requestId ?? '', /^[0-9a-f-]{36}$/)
      await expect(sender.getAudiences()).to.be.rejected.and.eventually.have.property('code', 'FORBIDDEN')
    })
  })
})
