/**
 * A tenant that sends phishing is suspended, removes its domain, or has a link blocked: what it put on the operator's
 * hosts stops, and its recipients can still unsubscribe.
 */
import { assert } from 'chai'
import { createAudience } from '#src/contacts/audiences.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createLinks, type Links, type MailRef } from '#src/tracking/links.ts'
import {
  listOf,
  OPERATOR_TOKEN,
  startApi,
  textOf,
  type Tenant,
  type TestApi,
  type TestResponse,
} from '#test/support/api.ts'
import { until } from '#test/support/until.ts'

const BAIT = 'https://phish.example/login?user=1'
const LIST_NAME = 'Call +1 555 0100 about your account'
const FORM = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }

interface Page {
  readonly status: number
  readonly location: string | null
  readonly headers: Headers
  readonly text: string
}

describe('a closed sender', () => {
  let api: TestApi
  let links: Links
  before(async () => {
    api = await startApi()
    links = createLinks({
      encryption: createEncryption(Buffer.from('5a'.repeat(32), 'hex')),
      config: { bounceDomain: 'b.example', hostedMailUrl: null },
    })
  })
  after(() => api.stop())

  interface Scene {
    readonly tenant: Tenant
    readonly ref: MailRef
    readonly subscribeToken: string
  }
  /** A tenant with a mail that was sent, to a contact of an audience whose name is a message of its own. */
  async function scene(): Promise<Scene> {
    const tenant = await api.addTenant()
    const { workspaceId, domainId: senderId } = tenant
    const order = { name: LIST_NAME, description: null, isDoubleOptIn: false }
    const audience = await createAudience(api.db, workspaceId, order, new Date())
    const contact = await api.call('POST', '/public/contacts/add-contact', {
      key: tenant.admin,
      body: { email: 'victim@people.example', audience_id: audience.id },
    })
    const sent = await api.call('POST', '/send-email/async', {
      key: tenant.regular,
      body: { from: `bank@${tenant.domain}`, to: 'victim@people.example', subject: 's', html: '<h1>Pay now</h1>' },
    })
    assert.deepEqual([contact.status, sent.status], [201, 200])
    const messageId = messageIdOf(textOf(sent.body['email_id'])) ?? ''
    const contactId = textOf(contact.body['data']?.['id'])
    return {
      tenant,
      subscribeToken: audience.subscribeToken,
      ref: { base: api.url, messageId, n: 0, workspaceId, senderId, contactId, audienceId: audience.id },
    }
  }
  async function open(url: string, init: RequestInit = {}): Promise<Page> {
    const response = await fetch(url, { redirect: 'manual', headers: { accept: 'text/html' }, ...init })
    const { status, headers } = response
    return { status, headers, location: headers.get('location'), text: await response.text() }
  }
  const post = (url: string, body: string): Promise<Page> => open(url, { method: 'POST', body, headers: FORM })
  const asOperator = (method: string, path: string, body?: object): Promise<TestResponse> =>
    api.call(method, `/admin${path}`, { key: OPERATOR_TOKEN, ...(body === undefined ? {} : { body }) })
  const hits = async ({ messageId }: MailRef): Promise<number> =>
    (await api.db.query('SELECT 1 FROM tracking_hits WHERE message_id = $1', [messageId])).rows.length
  /** Caches of a few seconds. */
  const untilClosed = (url: string): Promise<void> =>
    until(async () => (await open(url)).status === 404, undefined, 20_000)
  async function isSubscribed({ contactId, audienceId }: MailRef): Promise<boolean | undefined> {
    const { rows } = await api.db.query<{ is: boolean }>(
      sql`
        SELECT m.is_subscribed AND c.opted_out_at IS NULL AS is
        FROM memberships m
        JOIN contacts c ON c.id = m.contact_id
        WHERE m.contact_id = $1 AND m.audience_id = $2
      `,
      [contactId, audienceId],
    )
    return rows[0]?.is
  }

  it('suspended: links, pixels, hosted mail, forms and keys stop; an unsubscribe works', async () => {
    const { tenant, ref, subscribeToken } = await scene()
    const before = await open(links.click(ref, BAIT))
    assert.deepEqual([before.status, before.location], [302, BAIT])
    assert.strictEqual((await open(links.view(ref))).status, 200)
    assert.match((await open(links.preferences(ref))).text, /Call \+1 555/)
    const suspended = await asOperator('POST', '/suspensions', { workspace: tenant.workspaceId, reason: 'phishing' })
    assert.match(textOf(suspended.body['message']), /^Everything of the workspace/)

    await untilClosed(links.click(ref, BAIT))
    const counted = await hits(ref)
    const click = await open(links.click(ref, BAIT))
    assert.deepEqual([click.status, click.location, click.text.includes('phish.example')], [404, null, false])
    assert.match(click.text, /<h1>Link switched off<\/h1>/)
    const pixel = await open(links.open(ref))
    assert.deepEqual([pixel.status, pixel.headers.get('content-type')], [200, 'image/gif'])
    assert.strictEqual(await hits(ref), counted, 'nothing is recorded')
    const view = await open(links.view(ref))
    assert.deepEqual([view.status, view.text.includes('Pay now')], [404, false])
    for (const method of ['GET', 'POST'])
      assert.strictEqual(
        (await api.call(method, `//s/${subscribeToken}`, { key: null, body: SUBSCRIBER[method] })).status,
        404,
      )
    for (const [key, method, path] of [
      [tenant.regular, 'POST', '/send-email/async'],
      [tenant.admin, 'GET', '/public/contacts/get-contacts'],
    ] as const) {
      const refused = await api.call(method, path, { key, ...(method === 'POST' ? { body: {} } : {}) })
      assert.deepEqual([refused.status, refused.body['error']] as unknown, [403, 'FORBIDDEN'])
      assert.match(textOf(refused.body['message']), /suspended/)
    }

    for (const page of [await open(links.unsubscribe(ref)), await open(links.preferences(ref))]) {
      assert.strictEqual(page.status, 200)
      assert.match(page.text, /Unsubscribe v…@people\.example/)
      assert.notMatch(page.text, /555/)
    }
    const done = await post(links.unsubscribe(ref), 'List-Unsubscribe=One-Click')
    assert.deepEqual(
      [done.status, /You are unsubscribed/.test(done.text), /555|undo/.test(done.text)],
      [200, true, false],
    )
    assert.strictEqual(await isSubscribed(ref), false)

    await asOperator('DELETE', `/suspensions?workspace=${tenant.workspaceId}`)
    await until(async () => (await open(links.click(ref, BAIT))).status === 302, undefined, 20_000)
    assert.strictEqual((await api.call('GET', '/integrations/verify', { key: tenant.regular })).status, 200)
  })

  it('suspended: the preferences page only opts out, whatever is posted to it', async () => {
    const { tenant, ref } = await scene()
    await asOperator('POST', '/suspensions', { workspace: tenant.workspaceId })
    await untilClosed(links.click(ref, BAIT))
    const done = await post(links.preferences(ref), `list-${ref.audienceId}=1&all=0`)
    assert.deepEqual([done.status, /555/.test(done.text)], [200, false])
    assert.strictEqual(await isSubscribed(ref), false)
  })

  it('whose mail alone is paused keeps its links and keys', async () => {
    const { tenant, ref } = await scene()
    const paused = await asOperator('POST', '/suspensions', { workspace: tenant.workspaceId, scope: 'mail' })
    assert.match(textOf(paused.body['message']), /^Mail of the workspace/)
    const listed = await asOperator('GET', '/suspensions')
    const found = listOf(listed.body['data']?.['suspensions']).find(
      (one) => textOf(one['subject']) === tenant.workspaceId,
    )
    assert.strictEqual(textOf(found?.['scope']), 'mail')
    assert.strictEqual((await open(links.click(ref, BAIT))).location, BAIT)
    assert.strictEqual((await api.call('GET', '/integrations/verify', { key: tenant.regular })).status, 200)
    const wrong = await asOperator('POST', '/suspensions', { domain: 'a.example', scope: 'all' })
    assert.strictEqual(wrong.status, 400)
  })

  it('removed: links of the domain stop, also when the mail is no longer stored; an unsubscribe works', async () => {
    const { tenant, ref } = await scene()
    assert.strictEqual((await open(links.click(ref, BAIT))).status, 302)
    const removed = await api.call('DELETE', `/public/domains/delete-domain/${tenant.domainId}`, { key: tenant.admin })
    assert.strictEqual(removed.status, 200)
    await untilClosed(links.click(ref, BAIT))
    await api.db.query('DELETE FROM messages WHERE id = $1', [ref.messageId])
    assert.strictEqual((await open(links.click(ref, BAIT))).status, 404)
    assert.strictEqual((await open(links.view(ref))).status, 404)
    assert.strictEqual((await api.call('GET', '/integrations/verify', { key: tenant.regular })).status, 401)
    const page = await open(links.preferences(ref))
    assert.deepEqual([page.status, /555/.test(page.text)], [200, false])
    assert.strictEqual((await post(links.unsubscribe(ref), 'List-Unsubscribe=One-Click')).status, 200)
    assert.strictEqual(await isSubscribed(ref), false)
  })

  it('that adds and verifies its domain again has its links back', async () => {
    const { tenant, ref } = await scene()
    await api.call('DELETE', `/public/domains/delete-domain/${tenant.domainId}`, { key: tenant.admin })
    await untilClosed(links.click(ref, BAIT))
    await api.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status, verified_at)
        VALUES ($1, $2, $3, 'verified', now())
      `,
      [newId(), tenant.workspaceId, tenant.domain],
    )
    await until(async () => (await open(links.click(ref, BAIT))).status === 302, undefined, 20_000)
  })

  it('a blocked link is blocked in all mail of everyone, by the link in a report, its target or its host', async () => {
    const { ref } = await scene()
    const { ref: other } = await scene()
    const tracked = links.click(ref, BAIT)
    const blocked = await asOperator('POST', '/blocked-links', { link: tracked, reason: 'reported' })
    assert.deepEqual([blocked.body['data']?.['kind'], blocked.body['data']?.['subject']] as unknown, ['url', BAIT])
    for (const link of [tracked, links.click(other, BAIT), links.click(other, `${BAIT}#fragment`)])
      assert.deepEqual([(await open(link)).status, (await open(link)).location], [404, null])
    assert.strictEqual((await open(links.click(other, 'https://phish.example/'))).status, 302)
    await asOperator('POST', '/blocked-links', { link: 'Phish.example' })
    for (const url of ['https://phish.example/', 'http://a.b.phish.example:8080/x', 'https://phish.example./'])
      assert.strictEqual((await open(links.click(other, url))).status, 404, url)
    assert.strictEqual((await open(links.click(other, 'https://notphish.example/'))).status, 302)

    assert.strictEqual((await asOperator('DELETE', '/blocked-links', { link: 'phish.example' })).status, 200)
    assert.strictEqual((await asOperator('DELETE', `/blocked-links?link=${encodeURIComponent(BAIT)}`)).status, 200)
    assert.strictEqual((await asOperator('DELETE', '/blocked-links', { link: BAIT })).status, 404)
    assert.strictEqual((await open(tracked)).location, BAIT)
    assert.strictEqual((await asOperator('POST', '/blocked-links', { link: 'a b' })).status, 400)
  })

  it('a blocked hosted mail is not shown, and other mail is', async () => {
    const [{ ref }, { ref: other }] = [await scene(), await scene()]
    const blocked = await asOperator('POST', '/blocked-links', { link: links.view(ref) })
    assert.deepEqual([blocked.body['data']?.['kind'], blocked.body['data']?.['subject']] as unknown, [
      'mail',
      ref.messageId,
    ])
    assert.deepEqual([(await open(links.view(ref))).status, (await open(links.view(other))).status], [404, 200])
    const listed = await asOperator('GET', '/blocked-links?limit=1')
    assert.strictEqual(textOf(listOf(listed.body['data']?.['links'])[0]?.['subject']), ref.messageId)
  })
})

const SUBSCRIBER: Readonly<Record<string, object | undefined>> = { POST: { email: 'new@people.example' } }
