/**
 * Rules of the dispatcher on a schedule in memory. The Redis scripts have their own tests (ready-queue.redis.test.ts).
 */
import { assert } from 'chai'
import { EPOCH_KEY, suspendedSite } from '#src/queue/keys.ts'
import { flushEventLoop } from '#test/support/delivery.ts'
import { until } from '#test/support/until.ts'
import { scheduleInMemory, siteOf, UNRESOLVED, type ScheduleInMemory } from './dispatcher.test-data.ts'
import type { Dispatcher } from './dispatcher.ts'

describe('dispatcher', () => {
  let schedule: ScheduleInMemory
  let dispatcher: Dispatcher
  beforeEach(() => {
    schedule = scheduleInMemory()
  })
  afterEach(() => dispatcher.stop())

  it('makes due recipients ready at the site of their domain, and wakes the site', async () => {
    schedule.add('normal', 'c.example')
    schedule.add('normal', 'c.example', { dueInMs: 60_000 })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.ready, ['normal c.example at c.example', 'wake c.example'])
  })
  it('has instant mail claimed without making it ready, where the site can, and no other mail', async () => {
    schedule.claiming.push('c.example')
    schedule.add('instant', 'c.example')
    schedule.add('instant', 'd.example')
    schedule.add('high', 'c.example')
    dispatcher = schedule.start()
    await until(() => schedule.ready.length === 5)
    assert.sameMembers(schedule.ready, [
      'claim instant at c.example',
      'instant d.example at d.example',
      'wake d.example for instant mail',
      'high c.example at c.example',
      'wake c.example',
    ])
  })
  it('has instant mail claimed in the turn of the event loop in which its site is found', async () => {
    schedule.claiming.push('c.example')
    schedule.add('instant', 'c.example')
    const turnEnd = Promise.withResolvers<readonly string[]>()
    dispatcher = schedule.start((domain) => {
      setImmediate(() => turnEnd.resolve([...schedule.ready]))
      return siteOf(domain)
    })
    assert.deepEqual(await turnEnd.promise, ['claim instant at c.example'])
  })
  it('counts instant mail that is claimed no longer as waiting for DNS', async () => {
    schedule.claiming.push('c.example')
    dispatcher = schedule.start()
    for (const wanted of [20_000, 40_000, 60_000]) {
      schedule.add('instant', 'c.example', { count: 20_000 })
      dispatcher.wakeTier('instant')
      await until(() => schedule.ready.length === wanted)
    }
  })
  it('looks up no group where every process can send all mail', async () => {
    schedule.add('normal', 'c.example', { count: 3 })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.lookups, [])
  })
  it('keeps mail that only some processes can send in a set of its own, with one lookup for a batch', async () => {
    schedule.add('normal', 'c.example', { count: 2 })
    schedule.add('normal', 'c.example', { count: 2, group: 'second' })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length === 6)
    assert.deepEqual(schedule.lookups, [4])
    assert.deepEqual(schedule.ready.toSorted(), [
      'normal c.example at c.example',
      'normal c.example at c.example',
      'normal c.example at c.example|second',
      'normal c.example at c.example|second',
      'wake c.example',
      'wake c.example|second',
    ])
  })
  it('sets suspended mail aside, whatever its group', async () => {
    schedule.suspended.push('c.example')
    schedule.add('normal', 'c.example', { group: 'second' })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.strictEqual(schedule.ready[0], `normal c.example at ${suspendedSite('c.example')}`)
  })
  it('dispatches the highest tier first, and instant mail before the next batch of bulk mail', async () => {
    schedule.add('bulk', 'c.example', { count: 1100 })
    dispatcher = schedule.start((domain) => {
      if (domain === 'c.example' && schedule.popped.length === 4) {
        schedule.add('instant', 'code.example')
        dispatcher.wakeTier('instant')
      }
      return siteOf(domain)
    })
    await until(() => schedule.ready.filter((text) => text.startsWith('bulk')).length === 1100)
    assert.deepEqual(schedule.popped.slice(0, 7), ['instant', 'high', 'normal', 'bulk', 'instant', 'bulk', 'bulk'])
  })
  it('makes the recipients of domains that share a site ready in one write', async () => {
    schedule.add('high', 'a.example')
    schedule.add('high', 'b.example')
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.writes, [1])
    assert.deepEqual(schedule.ready, ['high a.example at shared', 'high b.example at shared', 'wake shared'])
  })
  it('sets mail of a suspended domain aside without a look-up, and mail of a suspended site after it', async () => {
    schedule.suspended.push('c.example', 'shared')
    schedule.add('normal', 'c.example')
    schedule.add('normal', 'a.example')
    const routed: string[] = []
    dispatcher = schedule.start((domain) => {
      routed.push(domain)
      return siteOf(domain)
    })
    await until(() => schedule.ready.length === 4)
    assert.deepEqual(routed, ['a.example'])
    assert.sameMembers(
      schedule.ready.filter((text) => text.startsWith('normal')),
      [`normal c.example at ${suspendedSite('c.example')}`, `normal a.example at ${suspendedSite('a.example')}`],
    )
  })
  it('a slow DNS reply delays its own domain only', async () => {
    schedule.add('normal', 'slow.example')
    schedule.add('normal', 'c.example')
    dispatcher = schedule.start((domain) => (domain === 'slow.example' ? UNRESOLVED : siteOf(domain)))
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.ready, ['normal c.example at c.example', 'wake c.example'])
  })
  it('stops reading bulk mail when 20,000 recipients wait for DNS, and still reads instant mail', async () => {
    schedule.add('bulk', 'slow.example', { count: 21_000 })
    dispatcher = schedule.start((domain) => (domain === 'slow.example' ? UNRESOLVED : siteOf(domain)))
    await until(() => schedule.popped.filter((tier) => tier === 'bulk').length === 40)
    schedule.add('instant', 'c.example')
    dispatcher.wakeTier('instant')
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.ready, ['instant c.example at c.example', 'wake c.example for instant mail'])
    assert.strictEqual(schedule.popped.filter((tier) => tier === 'bulk').length, 40)
  })
  it('wakes at the next due time', async () => {
    schedule.add('normal', 'c.example', { dueInMs: 30 })
    dispatcher = schedule.start()
    await flushEventLoop()
    assert.deepEqual(schedule.ready, [])
    schedule.nowMs(30)
    await until(() => schedule.ready.length > 0)
  })
  it('reads nothing while the process must not claim', async () => {
    schedule.mayClaim.current = false
    schedule.add('instant', 'c.example')
    dispatcher = schedule.start()
    await flushEventLoop()
    assert.deepEqual(schedule.popped, [])
    schedule.mayClaim.current = true
    await until(() => schedule.ready.length > 0)
  })
  it('does not spin when Redis accepts what is scheduled and refuses what is ready', async () => {
    schedule.failures.addReady = Infinity
    schedule.add('normal', 'c.example')
    dispatcher = schedule.start()
    await until(() => schedule.commands.some((text) => text.startsWith('zadd')))
    const before = schedule.popped.length
    // what is scheduled again wakes the dispatcher, as its message does in Redis
    for (let i = 0; i < 100; i++) {
      dispatcher.wakeTier('normal')
      await flushEventLoop(1)
    }
    assert.isAtMost(schedule.popped.length - before, 1)
  })
  it('tries again when Redis is away', async () => {
    schedule.failures.popDue = 1
    schedule.add('instant', 'c.example')
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
  })
  it('schedules recipients again when Redis goes away before they are ready', async () => {
    schedule.failures.addReady = 1
    schedule.add('normal', 'c.example')
    dispatcher = schedule.start()
    await until(() => schedule.commands.some((text) => text.startsWith('zadd')))
    assert.deepEqual(schedule.ready, [])
  })
  it('has the schedule filled again when it stops while recipients wait for DNS', async () => {
    schedule.add('normal', 'slow.example')
    dispatcher = schedule.start(() => UNRESOLVED)
    await until(() => schedule.popped.includes('normal'))
    await dispatcher.stop()
    assert.ok(schedule.commands.includes(`del ${EPOCH_KEY}`))
  })
  it('leaves the schedule alone when it stops and nothing waits', async () => {
    dispatcher = schedule.start()
    await flushEventLoop()
    await dispatcher.stop()
    assert.deepEqual(schedule.commands, [])
  })
})
