import { assert } from 'chai'
import type { SessionGate } from '#mta/delivery/session-grant.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { attemptOf, claimedOf, deliveryOf, selectedSource } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { runDelivery, type RunnerDeps } from './runner.ts'
import { SourceQueue } from './source-queue.ts'

const throughGate = async (gate: SessionGate): Promise<Attempt | null> => {
  try {
    return (await gate.enter('bulk')) ? attemptOf() : null
  } finally {
    gate.leave('bulk')
  }
}

describe('runner', () => {
  const queueOf = (throttle = throttleWith({ share: { instant: 1, others: 1 } })): SourceQueue =>
    new SourceQueue({ hasReadyInstant: false, isEmpty: true }, null, throttle)
  const depsOf = (deps: Partial<RunnerDeps> = {}): RunnerDeps => ({
    deliver: (_, gate) => throughGate(gate),
    isLeased: () => true,
    isStopped: () => false,
    now: () => 0,
    ...deps,
  })

  it('uses one session of its source and releases it', async () => {
    const queue = queueOf()
    const delivery = deliveryOf(claimedOf({ tier: 'bulk' }), selectedSource({ throttle: queue.throttle }))
    const attempt = await runDelivery(depsOf(), queue, delivery)
    assert.strictEqual(attempt?.outcome.kind, 'delivered')
    assert.deepEqual([queue.active, queue.sessions, queue.atGate.size, queue.throttle.sessions], [0, 0, 0, 0])
  })
  it('waits at the gate of a full site until a session is free', async () => {
    const queue = queueOf()
    assert.strictEqual(await queue.throttle.enter('bulk'), true)
    const delivery = deliveryOf(claimedOf({ tier: 'bulk' }), selectedSource({ throttle: queue.throttle }))
    const running = runDelivery(depsOf(), queue, delivery)
    assert.deepEqual([queue.active, queue.atGate.size], [1, 1])
    queue.throttle.leave('bulk')
    assert.strictEqual((await running)?.outcome.kind, 'delivered')
  })
  const REFUSALS: readonly (readonly [why: string, deps: Partial<RunnerDeps>, isUsable: boolean])[] = [
    ['the lease ran out while it waited', { isLeased: () => false }, true],
    ['the process stops', { isStopped: () => true }, true],
    ['the source may not be used any more', {}, false],
  ]
  for (const [why, deps, isUsable] of REFUSALS) {
    it(`does not begin when ${why}, and releases its session`, async () => {
      const queue = queueOf()
      const selected = selectedSource({ throttle: queue.throttle, isUsable: () => isUsable })
      assert.strictEqual(
        await runDelivery(depsOf(deps), queue, deliveryOf(claimedOf({ tier: 'bulk' }), selected)),
        null,
      )
      assert.strictEqual(queue.throttle.sessions, 0)
    })
  }
  it('checks the lease again right before the message is transmitted', async () => {
    let isLeased = true
    const deliver: RunnerDeps['deliver'] = (_, gate) => {
      isLeased = false
      assert.strictEqual(gate.mayProceed(), false)
      return Promise.resolve(null)
    }
    await runDelivery(depsOf({ isLeased: () => isLeased, deliver }), queueOf(), deliveryOf())
  })
  it('keeps the counts right after an internal error', async () => {
    const queue = queueOf()
    await assert.isRejected(
      runDelivery(depsOf({ deliver: () => Promise.reject(new Error('bug')) }), queue, deliveryOf()),
      /bug/,
    )
    assert.strictEqual(queue.active, 0)
  })
  it('reports that a delivery waited long, so that its suppression is loaded again', async () => {
    const late: boolean[] = []
    const deliver: RunnerDeps['deliver'] = (_, gate) => {
      late.push(gate.isLate())
      return Promise.resolve(null)
    }
    const fresh = deliveryOf()
    await runDelivery(depsOf({ deliver }), queueOf(), fresh)
    await runDelivery(depsOf({ deliver }), queueOf(), { ...fresh, heldSinceMs: performance.now() - 3001 })
    assert.deepEqual(late, [false, true])
  })
})
