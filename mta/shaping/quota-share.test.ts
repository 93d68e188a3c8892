import { assert } from 'chai'
import fc from 'fast-check'
import type { Redis } from '#src/stores/redis.ts'
import { UNLEARNED } from '#src/shaping/learned-limits.ts'
import { openOwnRedis, type OwnRedis } from '#test/support/redis.ts'
import { askShares, sharesKey, type Ask, type Grant } from './quota-share.ts'

const NONE = { wanted: 0, bucket: null }
const KEY = sharesKey('google', 'default')

describe('the parts of processes in a pace', () => {
  let own: OwnRedis
  let redis: Redis
  before(async () => {
    own = await openOwnRedis()
    redis = own.redis
  })
  after(() => own.close())
  beforeEach(() => redis.flushall())

  async function ask(process: string, order: Partial<Ask> = {}): Promise<Grant> {
    const whole: Ask = {
      process,
      limit: 10,
      used: { all: 0, others: 0 },
      wanted: { instant: 0, others: 100 },
      learned: UNLEARNED,
      replaces: null,
      version: 0,
      messages: NONE,
      connections: NONE,
      ...order,
    }
    const [grant] = await askShares(redis, [{ key: KEY, ask: whole }])
    assert.ok(grant)
    return grant
  }

  it('one alone has all but what is kept for instant mail; instant mail may have the rest', async () => {
    assert.deepEqual(await ask('a').then(({ instant, others }) => [instant, others]), [0, 8])
    assert.deepEqual(
      await ask('a', { wanted: { instant: 5, others: 100 } }).then(({ instant, others }) => [instant, others]),
      [2, 8],
    )
  })
  it('a second one gets its half as the first lets go, and never before', async () => {
    await ask('a')
    assert.strictEqual((await ask('b')).others, 0)
    assert.strictEqual((await ask('a', { used: { all: 8, others: 8 } })).others, 4)
    assert.strictEqual((await ask('b')).others, 0, 'the first still uses all of it')
    await ask('a', { used: { all: 4, others: 4 } })
    assert.strictEqual((await ask('b')).others, 4)
  })
  it("what one does not want the other has; given back, it is nobody's", async () => {
    await ask('a', { wanted: { instant: 0, others: 1 } })
    assert.strictEqual((await ask('b')).others, 7)
    await ask('b', { wanted: { instant: 0, others: 0 } })
    assert.strictEqual((await ask('a')).others, 8)
    await ask('a', { wanted: { instant: 0, others: 0 } })
    assert.deepEqual(
      (await redis.hkeys(KEY)).filter((field) => field.startsWith('p:')),
      [],
    )
  })
  it('a single connection goes to the one that has it', async () => {
    assert.strictEqual((await ask('a', { limit: 1 })).others, 1)
    assert.strictEqual((await ask('b', { limit: 1 })).others, 0)
    assert.strictEqual((await ask('a', { limit: 1 })).others, 1)
  })
  it('the part of a process that is heard no more is free again', async () => {
    await ask('a')
    await redis.hset(KEY, 'p:a', '0 8 100 1')
    assert.strictEqual((await ask('b')).others, 8)
  })
  it('what was learned holds for all; of two that learn at once one is heard', async () => {
    const { version } = await ask('a')
    const half = { connections: 5, slowedAtMs: 7 }
    const heard = await ask('a', { learned: half, replaces: version })
    assert.deepEqual(heard.learned, half)
    const late = await ask('b', { learned: { connections: 2, slowedAtMs: 9 }, replaces: version })
    assert.deepEqual(late.learned, half)
    assert.strictEqual((await ask('c')).others + heard.others <= 4, true)
  })
  it('a pace that Redis does not know begins with what is known here', async () => {
    assert.deepEqual((await ask('a', { learned: { connections: 2, slowedAtMs: 5 } })).learned, {
      connections: 2,
      slowedAtMs: 5,
    })
  })
  it('after Redis lost it, what is in use is booked again before anybody gets more', async () => {
    const { version } = await ask('a', { used: { all: 4, others: 4 } })
    await ask('b', { used: { all: 4, others: 4 }, version })
    await redis.flushall()
    assert.strictEqual((await ask('a', { used: { all: 4, others: 4 }, version })).others, 4)
    assert.strictEqual((await ask('c')).others, 0)
    assert.ok((await ask('b', { used: { all: 4, others: 4 }, version })).others <= 4)
    await redis.hset(KEY, 'rebuilt', 1)
    assert.strictEqual((await ask('c')).others, 0, 'the others use all of it')
  })
  it('tokens come in blocks, no more than the bucket has, and say when the next one comes', async () => {
    const bucket = { size: 3, refillPerMs: 0.0001 }
    assert.strictEqual((await ask('a', { messages: { wanted: 2, bucket } })).messages, 2)
    assert.strictEqual((await ask('b', { messages: { wanted: 2, bucket } })).messages, 1)
    const none = await ask('b', { messages: { wanted: 2, bucket } })
    assert.strictEqual(none.messages, 0)
    assert.ok(none.waitMs > 1000 && none.waitMs <= 10_000)
  })
  it('whatever processes want and use, and however the limit moves, the sum is never over it', async () => {
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
          const grant = await ask(who, { limit, used, wanted: { instant, others } })
          // it fills up what it may have, and keeps what it uses over that
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
