import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { storeMail } from '#src/statistics/mail.test-data.ts'
import { listOf, startApi, textOf, type Json, type TestApi, type TestResponse } from '#test/support/api.ts'

describe('history of a contact', () => {
  let api: TestApi
  let audience: string
  let contact: string
  const EMAIL = 'anna@example.org'
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1' })
    const call = (method: string, path: string, body: object): Promise<TestResponse> =>
      api.call(method, `/public/${path}`, { key: api.admin, body })
    audience = textOf((await call('POST', 'audiences/add-audience', { name: 'News' })).body['data']?.['id'])
    const added = {
      email: EMAIL,
      audience_id: audience,
      first_name: 'Ana',
      custom_attributes: { plan: 'free', seats: 2 },
    }
    contact = textOf((await call('POST', 'contacts/add-contact', added)).body['data']?.['id'])
    await call('PATCH', `contacts/update-contact?id=${contact}`, {
      first_name: 'Anna',
      custom_attributes: { plan: 'pro' },
    })
    await call('PATCH', `contacts/update-contact?id=${contact}`, { first_name: 'Anna' })
  })
  after(() => api.stop())

  async function mailed(ms: number, workspaceId = api.workspaceId): Promise<string> {
    const at = new Date(ms)
    const id = await storeMail(api.db, { workspaceId, at, recipient: EMAIL }, [
      ['email.sent'],
      ['email.clicked', { machine: false, url: 'https://shop.example/' }],
    ])
    await api.db.query(
      sql`INSERT INTO recipients (message_id, n, workspace_id, kind, address, domain, tier, state, is_only, is_open,
         due_at, updated_at)
       VALUES ($1, 0, $2, 'to', $3, 'example.org', 'normal', 'delivered', true, false, now(), now())`,
      [id, workspaceId, EMAIL],
    )
    return id
  }
  async function read(query: string, key = api.admin): Promise<Json> {
    const { status, body } = await api.call('GET', `/public/contacts/get-contact-history?${query}`, { key })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return body['data'] as Json
  }

  it('has messages, clicks, joins and changes of attributes, newest first', async () => {
    const id = await mailed(Date.now() - 3_600_000)
    const data = await read(`email=${EMAIL}`)
    assert.isNull(data['next_cursor'])
    const items = listOf(data['history'])
    assert.deepEqual(
      items.map((one) => one['type']),
      ['contact.changed', 'contact.subscribed', 'email.clicked', 'message'],
    )
    assert.deepEqual(items[0]?.['changes'], [
      { field: 'first_name', from: 'Ana', to: 'Anna' },
      { field: 'custom_attributes.plan', from: 'free', to: 'pro' },
    ])
    assert.strictEqual(items[1]?.['audience_id'], audience)
    assert.deepEqual([items[2]?.['url'], items[2]?.['is_machine']], ['https://shop.example/', false])
    const email = `em_${id.replaceAll('-', '')}`
    assert.deepEqual([items[3]?.['id'], items[3]?.['subject'], items[3]?.['status']], [email, 'Hi', 'delivered'])
  })

  it('has each entry on one page, over the weeks, by cursor', async () => {
    for (let week = 1; week <= 6; week++) await mailed(Date.now() - week * 7 * 86_400_000)
    const whole = listOf((await read(`id=${contact}`))['history']).map((one) => one['id'])
    assert.lengthOf(whole, 16)
    const paged: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const data: Json = await read(`id=${contact}&limit=3&cursor=${cursor}`)
      paged.push(...listOf(data['history']).map((one) => one['id']))
      cursor = data['next_cursor'] === null ? null : textOf(data['next_cursor'])
    }
    assert.deepEqual(paged, whole)
  })

  it('has nothing of the same address in another workspace', async () => {
    const other = await api.addTenant()
    await mailed(Date.now() - 1000, other.workspaceId)
    assert.lengthOf(listOf((await read(`id=${contact}`))['history']), 16)
    const path = `/public/contacts/get-contact-history?id=`
    assert.strictEqual((await api.call('GET', path + contact, { key: other.admin })).status, 404)
    assert.strictEqual((await api.call('GET', path + newId(), { key: api.admin })).status, 404)
  })

  it('goes with its contact', async () => {
    await api.call('DELETE', `/public/contacts/delete-contact?id=${contact}`, { key: api.admin })
    const { rows } = await api.db.query('SELECT FROM contact_changes WHERE contact_id = $1', [contact])
    assert.lengthOf(rows, 0)
  })
})
