/**
 * The choice of a source on real stores: which sources may send, warm-up allowances, and what is left when a process
 * dies.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { addPool, addToPool } from '#src/egress/pools.ts'
import { addSource, findSource, pauseSource, removeSource, resumeSource, type NewSource } from '#src/egress/sources.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { THROTTLED, UNREACHABLE, attemptBy } from './source-choice.test-data.ts'
import { startEgress, type SourceChoice, type Egress } from './source-choice.ts'

const DAY_MS = 24 * 3600 * 1000

describe('source choice', () => {
  let ctx: TestContext
  let egress: Egress
  const absent = new Set<string>()
  const isHere = (address: string): Promise<boolean> => Promise.resolve(!absent.has(address))
  const started: Egress[] = []

  before(async () => {
    ctx = await createContext({ WARM_UP: '4,8', RETRY_SCALE: '1' })
  })
  after(() => ctx.close())
  beforeEach(async () => {
    absent.clear()
    await ctx.db.query('DELETE FROM egress_sources')
    await ctx.db.query('DELETE FROM egress_pools')
  })
  afterEach(async () => {
    for (const one of started.splice(0)) await one.stop()
  })

  async function start(): Promise<Egress> {
    const one = await startEgress(ctx, isHere)
    started.push(one)
    return one
  }

  async function add(name: string, address: string, order: Partial<NewSource> = {}): Promise<void> {
    const usual = {
      ehloName: `${name}.sender.example`,
      region: 'us-east-1',
      pool: null,
      weight: 1,
      isWarmingUp: false,
    } as const
    const added = await addSource(ctx, { name, address, ...usual, ...order })
    assert.strictEqual(added.kind, 'added')
  }

  const choose = async (pool = 'us-east', messageId = newId(), by = egress): Promise<SourceChoice> =>
    by.choose({ messageId, pool, receiver: () => 'google.com' })

  function names(choice: SourceChoice): (string | null)[] | string {
    return choice.kind === 'endpoints' ? choice.endpoints.map(({ source }) => source) : choice.detail
  }

  it('an older read of the sources does not overwrite a newer one', async () => {
    const { promise: isHeld, resolve: release } = Promise.withResolvers<void>()
    let isHolding = false
    const query: typeof ctx.db.query = async (statement, values) => {
      const read = await ctx.db.query<never>(statement, values)
      if (!isHolding || !JSON.stringify(statement).includes('FROM egress_sources')) return read
      isHolding = false
      await isHeld
      return read
    }
    const slow = await startEgress({ ...ctx, db: { ...ctx.db, query } }, isHere)
    started.push(slow)
    isHolding = true
    await add('one', '192.0.2.1')
    await until(() => !isHolding)
    await add('two', '2001:db8::2')
    // were the second read begun beside the first, it would be over, and then the first
    await sleep(200)
    release()
    await sleep(200)
    await until(
      async () => names(await choose('us-east', newId(), slow)).length === 2,
      () => 'the later source is not used',
    )
  })

  it("without sources the system chooses the address, and EHLO carries the server's name", async () => {
    egress = await start()
    const choice = await choose()
    const system = { source: null, address: null, family: null, ehloName: ctx.config.serverName }
    assert.deepEqual(choice.kind === 'endpoints' && choice.endpoints, [system])
  })

  it("mail uses its region's pool, or the default region's where that pool has no source", async () => {
    await add('east', '192.0.2.1')
    await add('africa', '192.0.2.2', { region: 'af-south-1' })
    egress = await start()
    assert.deepEqual(names(await choose('us-east')), ['east'])
    assert.deepEqual(names(await choose('af-south')), ['africa'])
    assert.deepEqual(names(await choose('ap-southeast')), ['east'])
  })

  it('returns the best source of each address family, the same at every retry', async () => {
    for (const [i, name] of ['a', 'b', 'c'].entries()) await add(name, `192.0.2.${i + 1}`)
    await add('six', '2001:db8::1')
    egress = await start()
    const messageId = newId()
    const first = await choose('us-east', messageId)
    assert.ok(first.kind === 'endpoints' && first.endpoints.length === 2)
    assert.deepEqual(new Set(first.endpoints.map(({ family }) => family)), new Set([4, 6]))
    for (let i = 0; i < 5; i++) assert.deepEqual(names(await choose('us-east', messageId)), names(first))
  })

  it('skips sources that are paused or not on this machine, and gives the reasons when none is left', async () => {
    await add('a', '192.0.2.1')
    await add('b', '192.0.2.2')
    absent.add('192.0.2.2')
    egress = await start()
    assert.deepEqual(names(await choose()), ['a'])
    await pauseSource(ctx, 'a')
    await until(
      async () => (await choose()).kind === 'wait',
      () => 'the pause is heard',
    )
    assert.match(
      String(names(await choose())),
      /^no source of its pool can send it now \((a is paused, b is not on|b is not on this machine, a is paused)/,
    )
    await resumeSource(ctx.db, 'a')
    await until(
      async () => (await choose()).kind === 'endpoints',
      () => 'the resumption is heard',
    )
  })

  it('a source that is added or removed counts immediately', async () => {
    await add('a', '192.0.2.1')
    egress = await start()
    await add('b', '192.0.2.2')
    await addPool(ctx, 'own')
    await addToPool(ctx.db, 'own', { source: 'b', weight: 1 })
    await until(
      async () => String(names(await choose('own'))) === 'b',
      () => 'the new pool is heard',
    )
    await removeSource(ctx.db, 'b')
    await until(
      async () => String(names(await choose('own'))) === 'a',
      () => 'the removal is heard',
    )
  })

  it('a source whose address leaves the machine is reported and not used until the address is back', async () => {
    await add('a', '192.0.2.1')
    await add('b', '192.0.2.2')
    egress = await start()
    assert.strictEqual((await findSource(ctx.db, 'a'))?.state, 'active')
    absent.add('192.0.2.1')
    await egress.recheckAddresses()
    for (let i = 0; i < 20; i++) assert.deepEqual(names(await choose()), ['b'])
    await until(
      async () => (await findSource(ctx.db, 'a'))?.state === 'gone',
      () => 'it is written down',
    )
    absent.clear()
    await egress.recheckAddresses()
    assert.ok(
      (await Promise.all(Array.from({ length: 40 }, () => choose()))).some((choice) => String(names(choice)) === 'a'),
    )
  })

  async function sendDay(count: number, outcome?: Outcome): Promise<number> {
    let sent = 0
    for (let i = 0; i < count; i++) {
      const choice = await choose()
      if (choice.kind === 'wait') break
      choice.finish(attemptBy('warm', outcome))
      sent++
    }
    return sent
  }

  /** Stops the process, which stores its counts, and starts the next. */
  async function nextDay(days = 1): Promise<void> {
    await egress.stop()
    ctx.advance(days * DAY_MS)
    egress = await start()
  }

  describe('while a source warms up', () => {
    beforeEach(async () => {
      await add('warm', '192.0.2.9', { isWarmingUp: true })
      egress = await start()
    })

    it("it sends its day's allowance, and other sources send the rest", async () => {
      await add('old', '192.0.2.8')
      egress = await start()
      const used = new Map<string, number>()
      for (let i = 0; i < 60; i++) {
        const choice = await choose()
        assert.ok(choice.kind === 'endpoints')
        const source = choice.endpoints[0]?.source ?? ''
        choice.finish(attemptBy(source))
        used.set(source, (used.get(source) ?? 0) + 1)
      }
      assert.deepEqual(Object.fromEntries(used), { warm: 4, old: 56 })
    })

    it('as the only source it postpones the rest, with a reason and a time', async () => {
      assert.strictEqual(await sendDay(10), 4)
      const choice = await choose()
      assert.ok(choice.kind === 'wait')
      assert.match(
        choice.detail,
        /warm is warming up.*warm-up allowance for google\.com is used up; more from .*T00:00:00\.000Z/,
      )
      assert.ok(choice.untilMs > ctx.clock.now() && choice.untilMs <= ctx.clock.now() + 3_600_000)
    })

    it('an attempt without a reply does not count', async () => {
      for (let i = 0; i < 10; i++) {
        const choice = await choose()
        assert.ok(choice.kind === 'endpoints')
        choice.finish(i % 2 === 0 ? null : attemptBy('warm', UNREACHABLE))
      }
      assert.strictEqual(await sendDay(10), 4)
    })

    it('the allowance stays after a day with little mail', async () => {
      assert.strictEqual(await sendDay(10), 4)
      await nextDay()
      assert.strictEqual(await sendDay(20), 4)
    })

    it("two processes share the day's allowance", async () => {
      const other = await start()
      const choices = await Promise.all(
        Array.from({ length: 20 }, (_, i) => choose('us-east', newId(), i % 2 === 0 ? egress : other)),
      )
      assert.strictEqual(choices.filter(({ kind }) => kind === 'endpoints').length, 4)
    })

    it('a killed process loses its block and no more; a stopped process returns it', async () => {
      const first = await choose() // a block of one; the process dies without recording anything
      assert.strictEqual(first.kind, 'endpoints')
      egress = await start()
      assert.strictEqual(await sendDay(10), 3)
    })
  })

  it('the allowance grows after a good day, stays after a middling one and shrinks after a bad one', async function () {
    await add('warm', '192.0.2.9', { isWarmingUp: true })
    const big = { ...ctx, config: { ...ctx.config, warmUp: [40, 80, 160] } }
    const restart = async (): Promise<void> => {
      egress = await startEgress(big, isHere)
      started.push(egress)
    }
    const turn = async (): Promise<void> => {
      await egress.stop()
      ctx.advance(DAY_MS)
      await restart()
    }
    await restart()
    assert.strictEqual(await sendDay(300), 40)
    await turn()
    assert.strictEqual(await sendDay(300), 80)
    await turn()
    assert.strictEqual(await sendDay(300, THROTTLED), 160)
    await turn()
    assert.strictEqual(await sendDay(300), 80, 'a step back')
    await turn()
    assert.strictEqual(await sendDay(300), 160)
    await turn()
    assert.strictEqual(await sendDay(300), 300, 'free after the last step')
  })
})
