/**
 * Plans over HTTP: what a workspace sees of its own plan, and that two api processes on one database enforce a
 * quota exactly.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { newId } from '#src/platform/id.ts'
import { startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'

const QUOTA = 30
const PLANS = { tiny: { monthlyQuota: QUOTA, requestsPerSecond: null, isLaunch: false } }

describe('a workspace', () => {
  const file = join(tmpdir(), `mailstead-plans-${newId()}.json`)
  let database: TestDatabase
  let apis: readonly [TestApi, TestApi]
  before(async () => {
    writeFileSync(file, JSON.stringify(PLANS))
    database = await createDatabase()
    apis = [await startApi({ PLANS_FILE: file }, database.url), await startApi({ PLANS_FILE: file }, database.url)]
  })
  after(async () => {
    await Promise.all(apis.map((api) => api.stop()))
    await database.drop()
    rmSync(file)
  })

  const dataOf = async (key: string): Promise<Json> =>
    (await apis[0].call('GET', '/public/workspace', { key })).body['data'] as Json

  it('sees its plan, quota and keys with either key type', async () => {
    const [api] = apis
    for (const key of [api.regular, api.admin]) {
      const data = await dataOf(key)
      assert.deepEqual(
        [
          data['id'],
          data['name'],
          data['plan'],
          data['features'],
          data['quota']?.['limit'],
          data['quota']?.['used'],
          data['keys'],
        ],
        [
          api.workspaceId,
          'test',
          'launch',
          { scheduling: true },
          50_000_000,
          0,
          { admin: 1, admin_limit: 5, regular: 1 },
        ],
      )
      const month = new Date(textOf(data['quota']?.['resets_at']))
      assert.ok(month > new Date() && month.getUTCDate() === 1 && month.getUTCHours() === 0)
    }
    const unlimited = await api.addTenant({ plan: 'enterprise' })
    const { quota, request_rate: rate } = await dataOf(unlimited.admin)
    assert.deepEqual([quota?.['limit'], quota?.['remaining'], rate?.['per_second']], [null, null, null])
  })

  const SENDERS = 50
  const CROWDS: readonly (readonly [what: string, recipients: number, accepted: number])[] = [
    ['one recipient each: exactly the quota is accepted', 1, QUOTA],
    ['four recipients each: as many whole messages as fit', 4, Math.floor(QUOTA / 4)],
  ]
  for (const [what, recipients, accepted] of CROWDS) {
    it(`fifty concurrent senders through two processes, ${what}`, async () => {
      const tenant = await apis[0].addTenant({ plan: 'tiny' })
      const send = (i: number): Promise<TestResponse> =>
        apis[i % 2 === 0 ? 0 : 1].call('POST', '/send-email/bulk', {
          key: tenant.regular,
          body: {
            from: `me@${tenant.domain}`,
            to: Array.from({ length: recipients }, (_, n) => `r${n}@b.example`),
            subject: 's',
            body: 'x',
          },
        })
      const answers = await Promise.all(Array.from({ length: SENDERS }, (_, i) => send(i)))
      assert.strictEqual(answers.filter(({ status }) => status === 200).length, accepted)
      for (const { status, body } of answers)
        if (status !== 200) assert.deepEqual([status, textOf(body['error'])], [429, 'RATE_LIMITED'])
      const { rows } = await apis[0].db.query<{ n: number }>(
        'SELECT count(*) AS n FROM recipients WHERE workspace_id = $1',
        [tenant.workspaceId],
      )
      assert.strictEqual(rows[0]?.n, accepted * recipients)
      const { quota } = await dataOf(tenant.admin)
      assert.deepEqual([quota?.['used'], quota?.['remaining']], [accepted * recipients, QUOTA - accepted * recipients])
    })
  }
  it('fifty concurrent requests for Admin keys get exactly the free ones', async () => {
    const { workspaceId } = await apis[0].addTenant()
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        createKey(apis[i % 2 === 0 ? 0 : 1].db, {
          kind: 'admin',
          prefix: 'ms',
          workspaceId,
          name: `key ${i}`,
          scopes: [],
        }),
      ),
    )
    assert.strictEqual(made.filter(({ kind }) => kind === 'created').length, 4, 'the tenant has one already')
    assert.strictEqual(made.filter(({ kind }) => kind === 'too-many-admin-keys').length, 46)
  })
})
