import { assert } from 'chai'
import type { Redis } from '#src/stores/redis.ts'
import { SITES_KEY } from '#src/queue/keys.ts'
import { openOwnRedis, type OwnRedis } from '#test/support/redis.ts'
import { createReadyQueue, type ReadyEntry, type ReadyQueue } from './ready-queue.ts'

describe('ready queue (Redis)', () => {
  let own: OwnRedis
  let redis: Redis
  let queue: ReadyQueue
  before(async () => {
    own = await openOwnRedis()
    redis = own.redis
    queue = createReadyQueue(redis)
  })
  after(() => own.close())
  beforeEach(() => redis.flushall())

  const entry = (member: string, tier: ReadyEntry['tier'] = 'bulk', owner = 'a'): ReadyEntry => ({
    member: `${member}:0:${owner.repeat(12)}:d.example`,
    tier,
  })
  const namesOf = (entries: readonly ReadyEntry[]): string[] => entries.map(({ member }) => member.split(':')[0] ?? '')

  it('claims strictly by tier within the limits for instant and all other mail', async () => {
    await queue.addReady(
      new Map([
        [
          'site',
          [
            entry('b1'),
            entry('n1', 'normal'),
            entry('i1', 'instant'),
            entry('h1', 'high'),
            entry('i2', 'instant'),
            entry('b2'),
          ],
        ],
      ]),
    )
    const claimed = await queue.claim('site', { instant: 1, others: 3 })
    assert.deepEqual(
      claimed.map(({ tier }, i) => `${tier} ${namesOf(claimed)[i]}`),
      ['instant i1', 'high h1', 'normal n1', 'bulk b1'],
    )
    assert.deepEqual((await queue.claim('site', { instant: 0, others: 0 })).length, 0)
    assert.deepEqual(namesOf(await queue.claim('site', { instant: 9, others: 9 })), ['i2', 'b2'])
  })
  it('a recipient that is added twice is ready once, and keeps its turn', async () => {
    for (const batch of [['m', 'n'], ['m']]) await queue.addReady(new Map([['site', batch.map((name) => entry(name))]]))
    assert.deepEqual(namesOf(await queue.claim('site', { instant: 9, others: 9 })), ['m', 'n'])
  })
  it('requeued recipients go first', async () => {
    await queue.addReady(new Map([['site', ['a', 'b', 'c', 'd'].map((name) => entry(name))]]))
    const claimed = await queue.claim('site', { instant: 0, others: 2 })
    await queue.addReady(new Map([['site', [entry('e', 'bulk', 'b')]]]))
    await queue.requeue('site', claimed)
    assert.deepEqual(namesOf(await queue.claim('site', { instant: 0, others: 9 })).slice(0, 2), ['a', 'b'])
  })
  it('a workspace with much mail does not delay one with little; each keeps its own order', async () => {
    const many = (count: number, owner: string, prefix = owner): ReadyEntry[] =>
      Array.from({ length: count }, (_, i) => entry(`${prefix}${String(i).padStart(5, '0')}`, 'bulk', owner))
    await queue.addReady(new Map([['site', many(5000, 'a')]]))
    await queue.claim('site', { instant: 0, others: 1000 })
    await queue.addReady(new Map([['site', many(100, 'b')]]))
    await queue.addReady(new Map([['site', many(50, 'c')]]))
    const claimed = namesOf(await queue.claim('site', { instant: 0, others: 260 }))
    const of = (prefix: string): string[] => claimed.filter((name) => name.startsWith(prefix))
    assert.deepEqual([of('b').length, of('c').length, of('a').length], [100, 50, 110])
    for (const prefix of ['a', 'b', 'c']) assert.deepEqual(of(prefix), of(prefix).toSorted())
    await queue.addReady(new Map([['site', many(10, 'b', 'b-again')]]))
    assert.strictEqual(
      namesOf(await queue.claim('site', { instant: 0, others: 22 })).filter((name) => name.startsWith('b-again'))
        .length,
      10,
      'it waits for none of its earlier mail',
    )
  })
  it('concurrent claims never get the same recipient, and no keys remain when all are claimed', async () => {
    await queue.addReady(
      new Map([['site', Array.from({ length: 1000 }, (_, i) => entry(`m${i}`, 'bulk', i % 2 === 0 ? 'a' : 'b'))]]),
    )
    const claims = await Promise.all(Array.from({ length: 20 }, () => queue.claim('site', { instant: 5, others: 60 })))
    const members = claims.flat().map(({ member }) => member)
    assert.strictEqual(members.length, 1000)
    assert.strictEqual(new Set(members).size, 1000)
    await redis.del(SITES_KEY)
    assert.deepEqual(await redis.keys('*'), [])
  })
  it('drops a site only when it is empty', async () => {
    await queue.addReady(
      new Map([
        ['full', [entry('m')]],
        ['empty', []],
      ]),
    )
    await queue.dropSite('full')
    await queue.dropSite('empty')
    assert.deepEqual(await queue.listSites(), ['full'])
  })
})
