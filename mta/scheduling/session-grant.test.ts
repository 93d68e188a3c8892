/**
 * The contract of scheduling and delivery (mta/delivery/session-grant.ts): which delivery holds a session, and for how
 * long. The runner and the steps of a delivery run together, on a throttle and a pipeline in memory.
 */
import { assert } from 'chai'
import { deliver } from '#mta/delivery/deliver.ts'
import type { DeliveryPipeline } from '#mta/delivery/delivery-pipeline.ts'
import { createMemoryBudget } from '#mta/delivery/memory-budget.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { attemptOf, claimedOf, flushEventLoop, LEASE } from '#test/support/delivery.ts'
import { runOne, siteWith, type RunOptions } from './runner.test-data.ts'
import type { RunnerDeps } from './runner.ts'
import type { SiteQueue } from './site-queue.ts'
import type { SourceQueue } from './source-queue.ts'

const NOW = Date.UTC(2026, 0, 1)
const SUPPRESSED = { cause: 'hard bounce', kind: 'bounce' }

interface Case {
  readonly site: SiteQueue
  readonly queue: SourceQueue
  /** The steps of the deliveries, in order, each with the sessions in use. */
  readonly steps: string[]
  readonly run: (claimed?: ClaimedRecipient, options?: Options) => Promise<Attempt | null | undefined>
}

interface Options extends RunOptions {
  readonly deps?: Partial<RunnerDeps>
}

/** A source queue with this many sessions for bulk mail. */
function queueWith(sessions: number, parts: Partial<Record<keyof DeliveryPipeline, unknown>> = {}): Case {
  const { site, queue } = siteWith('site', { instant: 1, others: sessions })
  const { throttle } = queue
  const steps: string[] = []
  const step =
    <T>(name: string, value: T) =>
    (): Promise<T> => {
      steps.push(`${name} (${throttle.sessions})`)
      return Promise.resolve(value)
    }
  const pipeline = {
    now: () => NOW,
    lifetimeSeconds: null,
    route: step('route', { kind: 'hosts', site: 'mx.a.example', hosts: [] }),
    unreachableReason: () => null,
    tlsPolicy: () => Promise.resolve({ isPending: false }),
    sendingDomain: () => Promise.resolve({ kind: 'ready', keys: [], mailFrom: null, pool: 'default' }),
    suppression: step('suppression', SUPPRESSED),
    contact: () => Promise.resolve(null),
    texts: step('load', {}),
    attachments: () => Promise.resolve([]),
    planTracking: () => Promise.resolve(null),
    bulkHeaders: () => Promise.resolve([]),
    feedbackFields: () => [],
    compose: step('compose', { head: '', body: Buffer.alloc(0), needsSmtputf8: false }),
    sign: () => Promise.resolve(Buffer.alloc(0)),
    returnPath: () => 'bounce@bounces.example',
    transport: { deliver: step('transmit', attemptOf()) },
    memory: createMemoryBudget(1000),
    ...parts,
  } as unknown as DeliveryPipeline
  const deliverIt: RunnerDeps['deliver'] = (delivery, grant) => deliver(pipeline, delivery, grant)
  return {
    site,
    queue,
    steps,
    run: (claimed, { deps = {}, ...options } = {}) =>
      runOne({ deliver: deliverIt, ...deps }, { site, queue }, claimed, options),
  }
}

describe('session of a delivery', () => {
  it('a small message uses a session only while it is transmitted, not while it is prepared', async () => {
    const { run, steps, queue } = queueWith(1)
    assert.strictEqual((await run())?.outcome.kind, 'delivered')
    assert.deepEqual(steps, ['route (0)', 'compose (0)', 'transmit (1)'])
    assert.strictEqual(queue.throttle.sessions, 0)
  })
  it('large content is loaded only with a session', async () => {
    const { run, steps } = queueWith(1)
    await run(claimedOf({ tier: 'bulk', content: { isLarge: true, size: 900 } }))
    assert.deepEqual(steps, ['route (1)', 'load (1)', 'compose (1)', 'transmit (1)'])
  })
  it('a delivery waits, prepared, while the receiver allows no further session', async () => {
    const { run, steps, queue } = queueWith(1)
    await queue.throttle.enter('bulk')
    const waiting = run()
    await flushEventLoop()
    assert.deepEqual([steps.at(-1), queue.waiting.length], ['compose (1)', 1])
    queue.throttle.leave('bulk')
    assert.strictEqual((await waiting)?.outcome.kind, 'delivered')
  })
  it('a one-time code gets a session while bulk mail uses all of its own', async () => {
    const { run, queue } = queueWith(1)
    await queue.throttle.enter('bulk')
    const bulk = run()
    assert.strictEqual((await run(claimedOf({ tier: 'instant' })))?.outcome.kind, 'delivered')
    queue.throttle.leave('bulk')
    await bulk
  })

  const RELEASED: readonly (readonly [why: string, change: (waiting: Case, lose: () => void) => void])[] = [
    ['the lease was lost meanwhile', (_, lose) => lose()],
    [
      'the process stops',
      ({ site }) => {
        site.isStopped = true
      },
    ],
  ]
  for (const [why, change] of RELEASED)
    it(`a recipient is released without an attempt when ${why}`, async () => {
      const waiting = queueWith(1)
      const { run, steps, queue } = waiting
      let isHeld = true
      await queue.throttle.enter('bulk')
      const running = run(undefined, { deps: { lease: { id: LEASE, isHeld: () => isHeld } } })
      await flushEventLoop()
      change(waiting, () => {
        isHeld = false
      })
      queue.throttle.leave('bulk')
      assert.strictEqual(await running, null)
      assert.deepEqual([steps.at(-1), queue.throttle.sessions], ['compose (1)', 0])
    })
  it('a recipient is released without an attempt when its source was removed or suspended meanwhile', async () => {
    const { run, steps, queue } = queueWith(1)
    assert.strictEqual(await run(undefined, { selected: { isUsable: () => false } }), null)
    assert.deepEqual([steps.at(-1), queue.throttle.sessions], ['compose (0)', 0])
  })
  it('a recipient is released without an attempt when the receiver suspends the source', async () => {
    const { run, queue } = queueWith(1)
    await queue.throttle.enter('bulk')
    const waiting = run()
    await flushEventLoop()
    queue.throttle.setSuspended(true)
    assert.strictEqual(await waiting, null)
  })

  it('after a long wait an address that was suppressed meanwhile gets no mail', async () => {
    const { run, steps } = queueWith(1)
    const attempt = await run(undefined, { waitedMs: 3500 })
    assert.strictEqual(attempt?.outcome.kind, 'suppressed')
    assert.deepEqual(steps.slice(-1), ['suppression (1)'])
  })
  it('after a short wait the suppression that the claim loaded holds', async () => {
    const { run, steps } = queueWith(1)
    await run()
    assert.ok(!steps.some((text) => text.startsWith('suppression')))
  })
  it('an error of the transport frees the session', async () => {
    const { run, queue } = queueWith(1, { transport: { deliver: () => Promise.reject(new Error('internal')) } })
    assert.strictEqual(await run(), undefined)
    assert.deepEqual([queue.throttle.sessions, queue.active], [0, 0])
  })
})
