/**
 * What the access of people must not open: the links in mail to others, rights that the plan or the role does not
 * have, and sessions that nobody uses. And what must work in a browser, with the headers that it sends.
 */
import { assert } from 'chai'
import { storeInvitation } from '#src/people/invitations.ts'
import { createReset } from '#src/people/password-resets.ts'
import { createSessionChecks } from '#src/people/session-checks.ts'
import { newId } from '#src/platform/id.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addPerson, addSignedIn } from '#test/support/people.ts'
import { authoriseSessionAgain } from '#api/http/session-access.ts'

const newAddress = (): string => `${newId()}@people.example`

describe('access of people', () => {
  let api: TestApi
  before(async () => {
    const plans = new URL('../test/support/small-plans.json', import.meta.url).pathname
    api = await startApi({ PLANS_FILE: plans, MODE: 'live', MAILSTEAD_HOSTNAME: 'mx.sender.example', TRUST_PROXY: '1' })
    await addPerson(api, { isOperator: true }) // the last operator cannot be removed
  })
  after(() => api.stop())

  describe('an invitation that was mailed', () => {
    const email = newAddress()
    let id = ''
    before(async () => {
      const owner = await addSignedIn(api, { role: 'owner' })
      const invited = await owner.call('POST', '/public/invitations', { body: { email, role: 'owner' } })
      assert.equal(invited.status, 201, JSON.stringify(invited.body))
      assert.deepEqual([invited.body['data']?.['is_mailed'], invited.body['data']?.['link']] as unknown, [true, null])
      const { rows } = await api.db.query<{ id: string; html: string }>(
        'SELECT id, b.html FROM messages JOIN message_bodies b ON b.message_id = id WHERE to_list::text LIKE $1',
        [`%${email}%`],
      )
      assert.lengthOf(rows, 1)
      assert.include(rows[0]?.html ?? '', '/join/')
      id = rows[0]?.id ?? ''
    })

    const asKey = (method: string, path: string): Promise<TestResponse> =>
      api.call(method, path, { key: api.admin, ...(method === 'POST' ? { body: {} } : {}) })

    for (const [method, path] of [
      ['GET', '/content'],
      ['GET', '/source'],
      ['POST', '/resend'],
    ] as const)
      it(`${method} ${path} is refused, to a key and to an owner`, async () => {
        const owner = await addSignedIn(api, { role: 'owner' })
        const answers = [
          await asKey(method, `/public/emails/${id}${path}`),
          await owner.call(method, `/public/emails/${id}${path}`, method === 'POST' ? { body: {} } : {}),
        ]
        for (const { status, body } of answers) assert.deepEqual([status, body['error']] as unknown, [403, 'FORBIDDEN'])
      })
    it('is found and has its state, but its link is nowhere in what the workspace reads', async () => {
      const answers = [
        await asKey('GET', `/public/emails/get-email/${id}`),
        await asKey('GET', `/public/emails/${id}/attempts`),
        await asKey('GET', '/public/events'),
        await asKey('GET', '/public/emails?tag=invitation'),
        await api.call('POST', '/public/privacy/export-person', { key: api.admin, body: { email } }),
      ]
      for (const { status, body } of answers) {
        assert.equal(status, 200)
        assert.notInclude(JSON.stringify(body), '/join/')
      }
      const exported = JSON.stringify(answers.at(-1)?.body)
      assert.include(exported, id, 'the export has the message')
    })
  })

  describe('forms in a browser', () => {
    /** Chromium and Firefox send this with a form of a page, by its referrer policy (Fetch standard, §3.2.6). */
    async function sendForm(path: string, fields: Record<string, string>): Promise<Response> {
      const page = await fetch(api.url + path, { headers: { accept: 'text/html', 'sec-fetch-site': 'none' } })
      const hidesOrigin = page.headers.get('referrer-policy') === 'no-referrer'
      await page.body?.cancel()
      const { origin } = new URL(api.config.publicUrl)
      return fetch(api.url + path, {
        method: 'POST',
        headers: {
          accept: 'text/html',
          'content-type': 'application/x-www-form-urlencoded',
          origin: hidesOrigin ? 'null' : origin,
          'sec-fetch-site': 'same-origin',
        },
        body: new URLSearchParams(fields),
      })
    }
    async function titleOf(response: Response): Promise<string> {
      return /<h1>(.*?)<\/h1>/.exec(await response.text())?.[1] ?? ''
    }

    it('an account is created with the link of an invitation', async () => {
      const place = { workspaceId: api.workspaceId, role: 'viewer', isOperator: false, invitedBy: null } as const
      const { token } = await api.db.transaction((tx) => storeInvitation(tx, { ...place, email: newAddress() }))
      const joined = await sendForm(`/join/${token}`, { name: 'Anna', password: 'a password of Anna' })
      assert.deepEqual([joined.status, await titleOf(joined)], [200, 'You are signed in'])
    })
    it('a password is changed, also after a form with a mistake', async () => {
      const { userId } = await addPerson(api)
      const { token } = await api.db.transaction((tx) => createReset(tx, userId))
      const short = await sendForm(`/reset/${token}`, { password: 'short' })
      assert.deepEqual([short.status, short.headers.get('referrer-policy')], [400, 'same-origin'])
      const changed = await sendForm(`/reset/${token}`, { password: 'another password' })
      assert.deepEqual([changed.status, await titleOf(changed)], [200, 'Your password is changed'])
    })
    it('pages without such a form name no referrer', async () => {
      const page = await fetch(`${api.url}/join/${'A'.repeat(43)}`, { headers: { accept: 'text/html' } })
      assert.deepEqual([page.status, page.headers.get('referrer-policy')], [404, 'no-referrer'])
      await page.body?.cancel()
    })
  })

  it('an open stream keeps no session alive, and a request does', async () => {
    const person = await addSignedIn(api, { role: 'viewer' })
    const age = (): Promise<unknown> =>
      api.db.query(`UPDATE user_sessions SET last_used_at = now() - interval '10 minutes' WHERE user_id = $1`, [
        person.userId,
      ])
    const isOld = async (): Promise<boolean> => {
      const { rows } = await api.db.query(
        `SELECT FROM user_sessions WHERE user_id = $1 AND last_used_at < now() - interval '5 minutes'`,
        [person.userId],
      )
      return rows.length > 0
    }
    await age()
    const headers = { cookie: person.cookie, 'x-workspace': api.workspaceId }
    const ctx = { config: api.config, sessionChecks: createSessionChecks(api.db, api.config) }
    const again = await authoriseSessionAgain(ctx, { name: 'stream-changes', access: 'any' }, headers)
    assert.deepInclude(again, { workspaceId: api.workspaceId })
    assert.isTrue(await isOld())
    assert.equal((await person.call('GET', '/auth/me')).status, 200)
    assert.isFalse(await isOld())
  })

  describe('the invitations of an operator', () => {
    const asOperator = (method: string, path: string, body?: object): Promise<TestResponse> =>
      api.call(method, path, { key: OPERATOR_TOKEN, ...(body === undefined ? {} : { body }) })
    const linkOf = (answer: TestResponse): string => `/${new URL(textOf(answer.body['data']?.['link'])).pathname}`
    const open = (path: string): Promise<TestResponse> =>
      api.call('GET', path, { key: null, headers: { accept: 'application/json' } })

    for (const [method, path] of [
      ['POST', '/disable'],
      ['DELETE', ''],
    ] as const)
      it(`end with the operator: ${method} ${path}`, async () => {
        const operator = await addSignedIn(api, { isOperator: true })
        const body = { email: newAddress(), is_operator: true }
        const link = linkOf(await operator.call('POST', '/admin/users/invite', { workspace: null, body }))
        assert.equal((await open(link)).status, 200)
        assert.equal((await asOperator(method, `/admin/users/${operator.userId}${path}`)).status, 200)
        assert.equal((await open(link)).status, 404)
        if (method === 'DELETE') return
        await asOperator('POST', `/admin/users/${operator.userId}/enable`)
        assert.equal((await open(link)).status, 404, 'also when the operator is enabled again')
      })
    it('of a disabled one are void, even if they were stored at the same time', async () => {
      const operator = await addPerson(api, { isOperator: true })
      await asOperator('POST', `/admin/users/${operator.userId}/disable`)
      const place = { workspaceId: null, role: null, isOperator: true, invitedBy: operator.userId }
      const { token } = await api.db.transaction((tx) => storeInvitation(tx, { ...place, email: newAddress() }))
      assert.equal((await open(`//join/${token}`)).status, 404)
    })
    it('are listed and revoked by operators', async () => {
      const email = newAddress()
      const link = linkOf(await asOperator('POST', '/admin/users/invite', { email, is_operator: true }))
      const listed = await asOperator('GET', '/admin/invitations')
      const found = listOf(listed.body['data']?.['invitations']).find((one) => textOf(one['email']) === email)
      const path = `/admin/invitations/${textOf(found?.['id'])}`
      assert.deepEqual(
        [(await asOperator('DELETE', path)).status, (await asOperator('DELETE', path)).status],
        [200, 404],
      )
      assert.equal((await open(link)).status, 404)
    })
  })

  describe('the plan of a workspace', () => {
    it('holds for its members as for its keys', async () => {
      const { workspaceId } = await api.addTenant({ plan: 'free' })
      const owner = await addSignedIn(api, { role: 'owner', workspaceId })
      const path = `/public/campaigns/${newId()}/schedule`
      const body = { scheduled_at: '2099-01-01T00:00:00Z' }
      const refused = await owner.call('POST', path, { workspace: workspaceId, body })
      assert.deepEqual([refused.status, refused.body['error']] as unknown, [403, 'PLAN_REQUIRED'])
    })
    it('limits the requests of its members and keys together', async () => {
      const { workspaceId, admin } = await api.addTenant({ plan: 'small' })
      const owner = await addSignedIn(api, { role: 'owner', workspaceId })
      const limits = [
        await owner.call('GET', '/public/audiences/get-audiences', { workspace: workspaceId }),
        await api.call('GET', '/public/audiences/get-audiences', { key: admin }),
      ].map(({ headers }) => headers.get('x-ratelimit-limit'))
      assert.deepEqual(limits, ['20', '20'])
      const answers = await Promise.all(
        Array.from({ length: 60 }, () =>
          owner.call('GET', '/public/audiences/get-audiences', { workspace: workspaceId }),
        ),
      )
      assert.include(
        answers.map(({ status }) => status),
        429,
      )
    })
  })
})
