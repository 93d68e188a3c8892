import { assert } from 'chai'
import type { Tier } from '#src/queue/tiers.ts'
import { attemptOf, claimedOf, deliveryOf, flushEventLoop, LEASE, selectedSource } from '#test/support/delivery.ts'
import { runnerWith, runOne, siteWith, type SiteAndQueue } from './runner.test-data.ts'
import type { Runner, RunnerDeps } from './runner.ts'

describe('runner', () => {
  const NARROW = { instant: 1, others: 1 }

  it('uses one session of the source and releases it', async () => {
    const one = siteWith('site', NARROW)
    const attempt = await runOne({}, one)
    assert.strictEqual(attempt?.outcome.kind, 'delivered')
    const { queue } = one
    assert.deepEqual([queue.active, queue.sessions, queue.waiting.length, queue.throttle.sessions], [0, 0, 0, 0])
  })
  it('waits at a full site until a session is free', async () => {
    const one = siteWith('site', NARROW)
    const { queue } = one
    assert.strictEqual(await queue.throttle.enter('bulk'), true)
    const running = runOne({}, one)
    assert.deepEqual([queue.active, queue.waiting.length], [1, 1])
    queue.throttle.leave('bulk')
    assert.strictEqual((await running)?.outcome.kind, 'delivered')
  })
  it('starts nothing without a held lease', async () => {
    const one = siteWith('site')
    one.queue.push(deliveryOf())
    runnerWith(100, { lease: { id: LEASE, isHeld: () => false } }).start(one.site)
    await flushEventLoop()
    assert.deepEqual([one.queue.active, one.queue.held], [0, 1])
  })
  it('drops a recipient that was claimed under a lost lease: another process may have it', async () => {
    const dropped: string[] = []
    const claimed = claimedOf({ lease: LEASE - 1 })
    const one = siteWith('site')
    const leased: RunnerDeps['leased'] = { drop: (all) => dropped.push(...all.map(({ messageId }) => messageId)) }
    assert.strictEqual(await runOne({ leased }, one, claimed), undefined)
    assert.deepEqual([dropped, one.queue.active], [[claimed.messageId], 0])
  })
  it('checks the lease again right before the message is transmitted', async () => {
    let isHeld = true
    const checked: boolean[] = []
    const deliver: RunnerDeps['deliver'] = (_, grant) => {
      isHeld = false
      checked.push(grant.mayProceed())
      return Promise.resolve(null)
    }
    assert.strictEqual(await runOne({ lease: { id: LEASE, isHeld: () => isHeld }, deliver }, siteWith('site')), null)
    assert.deepEqual(checked, [false])
  })
  it('keeps the counts right after an internal error, and writes nothing', async () => {
    const one = siteWith('site')
    const selected = selectedSource({ throttle: one.queue.throttle })
    const attempt = await runOne({ deliver: () => Promise.reject(new Error('bug')) }, one, undefined, { selected })
    assert.deepEqual([attempt, one.queue.active, selected.finished], [undefined, 0, [null]])
  })
  it('reports the attempt to its source before it is written', async () => {
    const one = siteWith('site')
    const selected = selectedSource({ throttle: one.queue.throttle })
    const attempt = attemptOf()
    await runOne({ deliver: () => Promise.resolve(attempt) }, one, undefined, { selected })
    assert.deepEqual(selected.finished, [attempt])
  })
})

describe('sessions of the process', () => {
  /** Deliveries hang: each holds its session. */
  const hanging = (sessions: number, deps: Partial<RunnerDeps> = {}): Runner =>
    runnerWith(sessions, { deliver: () => new Promise(() => undefined), ...deps })
  /** Starts deliveries of the site until the runner refuses one; resolves with how many it started. */
  async function fill(
    runner: Runner,
    { site, queue }: SiteAndQueue,
    tier: Tier = 'bulk',
    most = 1000,
  ): Promise<number> {
    let begun = 0
    for (; begun < most && runner.mayBegin(site, queue); begun++) {
      queue.push(deliveryOf(claimedOf({ tier })))
      runner.start(site)
      await flushEventLoop(1)
    }
    return begun
  }

  it('are left for a site that has none, however many sites hang', async () => {
    const runner = hanging(100)
    for (let i = 0; i < 40; i++) await fill(runner, siteWith(`hanging ${i}`))
    assert.strictEqual(await fill(runner, siteWith('late'), 'bulk', 1), 1)
  })
  it('are only a part of a busy process for a site that finished nothing', async () => {
    const begun = await fill(hanging(100), siteWith('hanging'))
    assert.ok(begun >= 15 && begun < 30, `${begun} of 100`)
  })
  it('are more for a site as its deliveries finish', async () => {
    const [slow, quick] = [siteWith('slow'), siteWith('quick')]
    const runner = hanging(100)
    for (let i = 0; i < 40; i++) await fill(runner, siteWith(`other ${i}`), 'bulk', 1)
    for (let i = 0; i < 20; i++) {
      quick.queue.push(deliveryOf(claimedOf({ tier: 'bulk' })))
      const delivery = quick.queue.next()
      assert.ok(delivery !== undefined)
      quick.queue.finished(delivery, i)
    }
    assert.ok((await fill(runner, quick)) > (await fill(runner, slow)))
  })
  it('are more for instant mail when bulk mail uses all others', async () => {
    const runner = hanging(20)
    for (let i = 0; runner.active < 20; i++) await fill(runner, siteWith(`bulk ${i}`))
    const bulk = siteWith('more bulk')
    bulk.queue.push(deliveryOf(claimedOf({ tier: 'bulk' })))
    assert.strictEqual(runner.mayBegin(bulk.site, bulk.queue), false)
    const code = siteWith('one-time code')
    code.queue.push(deliveryOf(claimedOf({ tier: 'instant' })))
    assert.strictEqual(runner.mayBegin(code.site, code.queue), true)
  })
  it('are not used while too many results wait to be written', async () => {
    let isBehind = true
    const runner = hanging(10, { isBehind: () => isBehind })
    const { site, queue } = siteWith('a')
    assert.strictEqual(runner.mayBegin(site, queue), false)
    isBehind = false
    assert.strictEqual(runner.mayBegin(site, queue), true)
  })

  /** A runner with one hanging delivery, and starved sites; `end` ends the delivery. */
  async function starved(
    names: readonly string[],
    sessions: number,
  ): Promise<{ end: () => Promise<void>; woken: string[] }> {
    const woken: string[] = []
    const delivery = Promise.withResolvers<null>()
    const runner = hanging(sessions, {
      deliver: () => delivery.promise,
      onFree: (site) => {
        if (site.site === 'hanging') return
        if (!woken.includes(site.site)) runner.addStarved(site)
        woken.push(site.site)
      },
    })
    await fill(runner, siteWith('hanging'), 'bulk', 1)
    for (const name of names) runner.addStarved(siteWith(name).site)
    const end = (): Promise<void> => {
      delivery.resolve(null)
      return flushEventLoop()
    }
    return { end, woken }
  }
  it('go to starved sites in turn; a site that is starved again waits behind the others', async () => {
    const { end, woken } = await starved(['a', 'b', 'c'], 10)
    await end()
    assert.deepEqual(woken, ['a', 'b', 'c', 'a', 'b', 'c'])
  })
  it('wake no site while all are in use', async () => {
    const woken: string[] = []
    const written = Promise.withResolvers<undefined>()
    const runner = hanging(10, {
      deliver: ({ claimed }) => (claimed.tier === 'high' ? Promise.resolve(attemptOf()) : new Promise(() => undefined)),
      handleResult: () => written.promise,
      onFree: ({ site }) => woken.push(site),
    })
    await fill(runner, siteWith('ends'), 'high', 1)
    await flushEventLoop()
    for (let i = 0; runner.active < 10; i++) await fill(runner, siteWith(`bulk ${i}`), 'bulk', 1)
    const { site, queue } = siteWith('one-time code')
    queue.push(deliveryOf(claimedOf({ tier: 'instant' })))
    runner.start(site)
    assert.strictEqual(runner.active, 11)
    runner.addStarved(siteWith('starved').site)
    written.resolve(undefined)
    await flushEventLoop()
    assert.deepEqual(woken, ['ends'])
  })
})
