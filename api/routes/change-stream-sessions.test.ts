import { assert } from 'chai'
import { createSessionChecks } from '#src/people/session-checks.ts'
import type { Queryable } from '#src/stores/db.ts'
import { startApi, textOf, type TestApi } from '#test/support/api.ts'
import { openEventStream, type EventStream } from '#test/support/event-stream.ts'
import { addSignedIn } from '#test/support/people.ts'

describe('GET /public/changes of people', () => {
  let api: TestApi
  const opened: EventStream[] = []
  before(async () => {
    api = await startApi()
  })
  afterEach(() => opened.splice(0).forEach((stream) => stream.close()))
  after(() => api.stop())

  async function open(cookie: string, query = '', workspace = api.workspaceId): Promise<EventStream> {
    const headers = { cookie, origin: api.config.publicUrl, 'x-workspace': workspace }
    const stream = await openEventStream(`${api.url}/api/v1/public/changes${query}`, { key: null, headers })
    opened.push(stream)
    if (stream.status === 200) await stream.next(({ type }) => type === 'ready')
    return stream
  }
  const closed = (stream: EventStream): Promise<unknown> => stream.next(({ type }) => type === 'closed')
  const verify = (status: string): Promise<unknown> =>
    api.db.query('UPDATE domains SET verification_status = $2 WHERE id = $1', [api.domainId, status])

  it('streams what the role may read', async () => {
    const owner = await addSignedIn(api, { role: 'owner' })
    const stream = await open(owner.cookie)
    await verify('degraded')
    const { data } = await stream.next(({ type }) => type === 'domains')
    assert.include(JSON.stringify(data), api.domainId)
    await verify('verified')
    const stranger = await addSignedIn(api, {})
    assert.strictEqual((await open(stranger.cookie)).status, 404)
    assert.strictEqual((await open('')).status, 401)
  })

  it('closes when the session or the membership ends, and the others stay', async () => {
    const [leaver, left, stays] = [
      await addSignedIn(api, { role: 'owner' }),
      await addSignedIn(api, { role: 'owner' }),
      await addSignedIn(api, { role: 'owner' }),
    ]
    const streams = [await open(leaver.cookie), await open(left.cookie), await open(stays.cookie)] as const
    assert.isBelow((await leaver.call('POST', '/auth/logout', { workspace: null })).status, 300)
    await api.db.query('DELETE FROM workspace_members WHERE user_id = $1', [left.userId])
    const ended = await Promise.all([closed(streams[0]), closed(streams[1])])
    assert.lengthOf(ended, 2)
    await verify('degraded')
    await streams[2].next(({ type }) => type === 'domains')
    assert.isFalse(streams[2].isEnded)
    await verify('verified')
  })

  it('checks all sessions with one statement, each with its own workspace', async () => {
    const people = [await addSignedIn(api, { role: 'owner' }), await addSignedIn(api, { role: 'viewer' })]
    let statements = 0
    const query: Queryable['query'] = (statement, values) => {
      statements++
      return api.db.query(statement, values)
    }
    const checks = createSessionChecks({ query }, api.config)
    const tokenOf = (cookie: string): string => textOf(cookie.split('=')[1])
    const [owner = '', viewer = ''] = people.map(({ cookie }) => tokenOf(cookie))
    const found = await Promise.all([
      checks.find({ token: viewer, workspaceId: api.workspaceId }),
      checks.find({ token: 'no token', workspaceId: null }),
      checks.find({ token: owner, workspaceId: api.workspaceId }),
      checks.find({ token: owner, workspaceId: null }),
    ])
    assert.strictEqual(statements, 1)
    assert.deepEqual(
      found.map((one) => [one?.user.userId ?? null, one?.membership?.role ?? null]),
      [
        [people[1]?.userId ?? null, 'viewer'],
        [null, null],
        [people[0]?.userId ?? null, 'owner'],
        [people[0]?.userId ?? null, null],
      ],
    )
  })
})
