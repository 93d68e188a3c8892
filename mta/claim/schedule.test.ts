import assert from 'node:assert/strict'
import { openLog } from '#src/log.ts'
import { openRedis, whenReady, type Redis } from '#src/redis.ts'
import { dueKey } from '#src/queue/keys.ts'
import { startRedis, type TestServer } from '#test/support/stores.ts'
import { addReady, claimReady, forgetSite, listSites, takeDue, type ReadyEntry } from './schedule.ts'

describe('the schedule in Redis', () => {
  let server: TestServer
  let redis: Redis
  before(async () => {
    server = await startRedis()
    redis = openRedis(server.url, openLog({ logLevel: 'silent' }, 'test'))
    await whenReady(redis, 5000)
  })
  after(async () => {
    redis.disconnect()
    await server.stop()
  })
  beforeEach(() => redis.flushall())

  const entry = (member: string, dueMs: number, tier: ReadyEntry['tier'] = 'bulk'): ReadyEntry => ({ member, dueMs, tier })

  it('gives what is due, soonest first, once, and tells when the next one is', async () => {
    await redis.zadd(dueKey('high'), 30, 'c', 10, 'a', 20, 'b', 500, 'later')
    assert.deepEqual(await takeDue(redis, 'high', 100, 2), { taken: [{ member: 'a', dueMs: 10 }, { member: 'b', dueMs: 20 }], nextMs: 30 })
    assert.deepEqual(await takeDue(redis, 'high', 100, 2), { taken: [{ member: 'c', dueMs: 30 }], nextMs: 500 })
    assert.deepEqual(await takeDue(redis, 'high', 100, 2), { taken: [], nextMs: 500 })
    assert.deepEqual(await takeDue(redis, 'instant', 100, 2), { taken: [], nextMs: null })
  })
  it('claims strictly by tier within the room for instant and for all others', async () => {
    await addReady(redis, new Map([['site', [entry('b1', 1), entry('n1', 2, 'normal'), entry('i1', 3, 'instant'), entry('h1', 4, 'high'), entry('i2', 5, 'instant'), entry('b2', 6)]]]))
    const claimed = await claimReady(redis, 'site', { instant: 1, others: 3 })
    assert.deepEqual(claimed.map(({ member, tier }) => `${tier} ${member}`), ['instant i1', 'high h1', 'normal n1', 'bulk b1'])
    assert.deepEqual((await claimReady(redis, 'site', { instant: 0, others: 0 })).length, 0)
    assert.deepEqual((await claimReady(redis, 'site', { instant: 9, others: 9 })).map(({ member }) => member), ['i2', 'b2'])
  })
  it('an entry that is added twice stands once', async () => {
    for (let i = 0; i < 3; i++) await addReady(redis, new Map([['site', [entry('m', i)]]]))
    assert.equal((await claimReady(redis, 'site', { instant: 9, others: 9 })).length, 1)
  })
  it('two claims at once never get the same', async () => {
    await addReady(redis, new Map([['site', Array.from({ length: 1000 }, (_, i) => entry(`m${i}`, i))]]))
    const claims = await Promise.all(Array.from({ length: 20 }, () => claimReady(redis, 'site', { instant: 5, others: 60 })))
    const members = claims.flat().map(({ member }) => member)
    assert.equal(members.length, 1000)
    assert.equal(new Set(members).size, 1000)
  })
  it('forgets a site only when it is empty', async () => {
    await addReady(redis, new Map([['full', [entry('m', 1)]], ['empty', []]]))
    await forgetSite(redis, 'full')
    await forgetSite(redis, 'empty')
    assert.deepEqual(await listSites(redis), ['full'])
  })
})
