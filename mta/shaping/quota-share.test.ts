import { assert } from 'chai'
import fc from 'fast-check'
import type { Redis } from '#src/stores/redis.ts'
import { UNLEARNED } from '#src/shaping/learned-limits.ts'
import { openOwnRedis, type OwnRedis } from '#test/support/redis.ts'
import { requestShares, sharesKey, type ShareRequest, type ShareGrant } from './quota-share.ts'

const NONE = { count: 0, bucket: null }
const KEY = sharesKey('google', 'default')

describe('quota shares of processes (Redis)', () => {
  let own: OwnRedis
  let redis: Redis
  before(async () => {
    own = await openOwnRedis()
    redis = own.redis
  })
  after(() => own.close())
  beforeEach(() => redis.flushall())

  async function ask(process: string, fields: Partial<ShareRequest> = {}): Promise<ShareGrant> {
    const request: ShareRequest = {
      process,
      limit: 10,
      used: { all: 0, others: 0 },
      demand: { instant: 0, others: 100 },
      learned: UNLEARNED,
      replacesVersion: null,
      version: 0,
      messages: NONE,
      connections: NONE,
      ...fields,
    }
    const [grant] = await requestShares(redis, [{ key: KEY, request }])
    assert.ok(grant)
    return grant
  }

  it('a single process gets all connections; some are reserved for instant mail', async () => {
    assert.deepEqual(await ask('a').then(({ instant, others }) => [instant, others]), [0, 8])
    assert.deepEqual(
      await ask('a', { demand: { instant: 5, others: 100 } }).then(({ instant, others }) => [instant, others]),
      [2, 8],
    )
  })
  it('a second process gets its half as the first frees connections, and never before', async () => {
    await ask('a')
    assert.strictEqual((await ask('b')).others, 0)
    assert.strictEqual((await ask('a', { used: { all: 8, others: 8 } })).others, 4)
    assert.strictEqual((await ask('b')).others, 0, 'the first still uses all of it')
    await ask('a', { used: { all: 4, others: 4 } })
    assert.strictEqual((await ask('b')).others, 4)
  })
  it('a process gets what the others do not demand; a released share is free', async () => {
    await ask('a', { demand: { instant: 0, others: 1 } })
    assert.strictEqual((await ask('b')).others, 7)
    await ask('b', { demand: { instant: 0, others: 0 } })
    assert.strictEqual((await ask('a')).others, 8)
    await ask('a', { demand: { instant: 0, others: 0 } })
    assert.deepEqual(
      (await redis.hkeys(KEY)).filter((field) => field.startsWith('p:')),
      [],
    )
  })
  it('a limit of one connection stays with the process that has it', async () => {
    assert.strictEqual((await ask('a', { limit: 1 })).others, 1)
    assert.strictEqual((await ask('b', { limit: 1 })).others, 0)
    assert.strictEqual((await ask('a', { limit: 1 })).others, 1)
  })
  it('the share of a process that stopped renewing becomes free', async () => {
    await ask('a')
    await redis.hset(KEY, 'p:a', '0 8 100 1')
    assert.strictEqual((await ask('b')).others, 8)
  })
  it('a learned limit applies to all processes; of two learned at the same time the first wins', async () => {
    const { version } = await ask('a')
    const half = { connections: 5, reducedAtMs: 7 }
    const granted = await ask('a', { learned: half, replacesVersion: version })
    assert.deepEqual(granted.learned, half)
    const late = await ask('b', { learned: { connections: 2, reducedAtMs: 9 }, replacesVersion: version })
    assert.deepEqual(late.learned, half)
    assert.strictEqual((await ask('c')).others + granted.others <= 4, true)
  })
  it('a throttle that Redis does not know starts with the limit that the process knows', async () => {
    assert.deepEqual((await ask('a', { learned: { connections: 2, reducedAtMs: 5 } })).learned, {
      connections: 2,
      reducedAtMs: 5,
    })
  })
  it('after Redis lost the shares, connections in use are reserved again before any process gets more', async () => {
    const { version } = await ask('a', { used: { all: 4, others: 4 } })
    await ask('b', { used: { all: 4, others: 4 }, version })
    await redis.flushall()
    assert.strictEqual((await ask('a', { used: { all: 4, others: 4 }, version })).others, 4)
    assert.strictEqual((await ask('c')).others, 0)
    assert.ok((await ask('b', { used: { all: 4, others: 4 }, version })).others <= 4)
    await redis.hset(KEY, 'rebuilt', 1)
    assert.strictEqual((await ask('c')).others, 0, 'the others use all of it')
  })
  it('tokens come in blocks of at most the bucket, with the time until the next token', async () => {
    const bucket = { size: 3, refillPerMs: 0.0001 }
    assert.strictEqual((await ask('a', { messages: { count: 2, bucket } })).messages, 2)
    assert.strictEqual((await ask('b', { messages: { count: 2, bucket } })).messages, 1)
    const none = await ask('b', { messages: { count: 2, bucket } })
    assert.strictEqual(none.messages, 0)
    assert.ok(none.waitMs > 1000 && none.waitMs <= 10_000)
  })
  it('the connections of all processes together never exceed the limit', async () => {
    const turn = fc.record({
      who: fc.constantFrom('a', 'b', 'c'),
      instant: fc.nat(5),
      others: fc.nat(20),
      release: fc.nat(10),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { maxLength: 40 }), fc.integer({ min: 1, max: 20 }), async (turns, limit) => {
        await redis.flushall()
        const held = new Map<string, { all: number; others: number }>()
        for (const { who, instant, others, release } of turns) {
          const before = held.get(who) ?? { all: 0, others: 0 }
          const used = {
            others: Math.max(0, before.others - release),
            all: Math.max(0, before.others - release) + Math.max(0, before.all - before.others - release),
          }
          const grant = await ask(who, { limit, used, demand: { instant, others } })
          // it uses all of its share, and keeps connections in use beyond it
          const all = Math.max(used.all, grant.instant + grant.others)
          held.set(who, { all, others: Math.max(used.others, Math.min(grant.others, all)) })
          const sum = [...held.values()].reduce((total, one) => total + one.all, 0)
          assert.ok(sum <= limit, `${sum} of ${limit}`)
        }
      }),
      { numRuns: 60 },
    )
  })
})
