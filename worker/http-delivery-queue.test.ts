import type { LoadSignal } from '#src/webhooks/attempt.ts'
import { assert } from 'chai'
import { EndpointQueues, type ConcurrencyLimits } from './http-delivery-queue.ts'

interface Job {
  readonly endpoint: string
  readonly nr: number
  end(load: LoadSignal): Promise<void>
}

interface Bench {
  readonly queues: EndpointQueues<Job>
  readonly running: Job[]
  readonly refillRequests: string[]
  readonly fill: (endpoint: string, count: number) => void
  readonly runningAt: (endpoint: string) => number
}

/** Webhook queues whose jobs run until the test ends them. */
function build(bounds: ConcurrencyLimits): Bench {
  const running: Job[] = []
  const refillRequests: string[] = []
  const queues = new EndpointQueues<Job>(bounds, {
    run: (job) =>
      new Promise((resolve) => {
        const end = async (load: LoadSignal): Promise<void> => {
          running.splice(
            running.findIndex((one) => one.nr === job.nr && one.endpoint === job.endpoint),
            1,
          )
          resolve(load)
          await new Promise((turn) => setImmediate(turn))
        }
        running.push({ ...job, end })
      }),
    onLow: (endpoint) => refillRequests.push(endpoint),
  })
  return {
    queues,
    running,
    refillRequests,
    fill: (endpoint, count) => {
      for (let nr = 0; nr < count; nr++) queues.add(endpoint, { endpoint, nr, end: () => Promise.resolve() })
    },
    runningAt: (endpoint) => running.filter((job) => job.endpoint === endpoint).length,
  }
}

const QUICK: LoadSignal = { kind: 'success', durationMs: 10 }
const NEUTRAL: LoadSignal = { kind: 'neutral' }
const OVERLOAD: LoadSignal = { kind: 'overload' }
const WIDE = { slots: 1000, firstWindow: 4, maxWindow: 8, timeoutMs: 10_000 }

describe('webhook queues', () => {
  it('start jobs in order, up to the limit of the endpoint', async () => {
    const { queues, running, fill } = build(WIDE)
    fill('a', 10)
    assert.deepEqual(
      running.map((job) => job.nr),
      [0, 1, 2, 3],
    )
    assert.strictEqual(queues.size, 10)
    await running[1]?.end(NEUTRAL)
    assert.deepEqual(
      running.map((job) => job.nr),
      [0, 2, 3, 4],
    )
    assert.strictEqual(queues.size, 9)
  })

  it('raise the limit after quick successes, up to the maximum', async () => {
    const { running, fill } = build(WIDE)
    fill('a', 100)
    for (let i = 0; i < 20; i++) await running[0]?.end(QUICK)
    assert.strictEqual(running.length, 8)
  })

  it('halve the limit after failures, down to one', async () => {
    const { running, fill, runningAt } = build(WIDE)
    fill('a', 100)
    for (let i = 0; i < 20; i++) await running[0]?.end(OVERLOAD)
    assert.strictEqual(runningAt('a'), 1)
  })

  it('keep the limit after a response that says nothing about the load', async () => {
    const { running, fill } = build(WIDE)
    fill('a', 100)
    for (let i = 0; i < 20; i++) await running[0]?.end(NEUTRAL)
    assert.strictEqual(running.length, 4)
  })

  for (const [hogs, each] of [
    [1, 50],
    [3, 25],
    [9, 10],
  ] as const) {
    it(`${hogs} endpoints that hang use ${each} of 100 slots each, and another one starts immediately`, () => {
      const { running, fill, runningAt } = build({ slots: 100, firstWindow: 80, maxWindow: 80, timeoutMs: 10_000 })
      // alternating, as claims return them
      for (let round = 0; round < 100; round++) for (let hog = 0; hog < hogs; hog++) fill(`hog ${hog}`, 1)
      for (let hog = 0; hog < hogs; hog++)
        assert.ok(Math.abs(runningAt(`hog ${hog}`) - each) <= 1, String(runningAt(`hog ${hog}`)))
      fill('new', 1)
      assert.strictEqual(runningAt('new'), 1)
      assert.ok(running.length <= 100)
    })
  }

  it('never start more jobs than there are slots, and serve every endpoint', async () => {
    const { queues, running, fill } = build({ slots: 10, firstWindow: 4, maxWindow: 4, timeoutMs: 10_000 })
    for (let endpoint = 0; endpoint < 50; endpoint++) fill(`endpoint ${endpoint}`, 2)
    const served = new Set<string>()
    while (queues.size > 0) {
      assert.ok(running.length > 0 && running.length <= 10)
      const job = running[0]
      served.add(`${job?.endpoint} ${job?.nr}`)
      await job?.end(NEUTRAL)
    }
    assert.strictEqual(served.size, 100)
  })

  it('keep the limit while it is not used', async () => {
    const { running, fill } = build(WIDE)
    for (let i = 0; i < 20; i++) {
      fill('a', 1)
      await running[0]?.end(QUICK)
    }
    fill('a', 100)
    assert.strictEqual(running.length, 4)
  })

  it('report how many more jobs each endpoint should hold', async () => {
    const { queues, running, fill } = build(WIDE)
    fill('a', 3)
    fill('b', 20)
    assert.deepEqual(
      [...queues.capacities()],
      [
        ['a', 5],
        ['b', 0],
      ],
    )
    await running[0]?.end(QUICK)
    assert.strictEqual(queues.capacities().get('a'), 6)
  })

  it('report an endpoint that needs more jobs', async () => {
    const { running, refillRequests, fill } = build(WIDE)
    fill('a', 6)
    fill('b', 20)
    await running.find((job) => job.endpoint === 'b')?.end(NEUTRAL)
    assert.deepEqual(refillRequests, [])
    await running.find((job) => job.endpoint === 'a')?.end(NEUTRAL)
    assert.deepEqual(refillRequests, ['a'])
  })

  it('return the waiting jobs, and are idle when the running ones have ended', async () => {
    const { queues, running, fill } = build(WIDE)
    await queues.idle()
    fill('a', 6)
    assert.deepEqual(
      queues.clear().map((job) => job.nr),
      [4, 5],
    )
    assert.strictEqual(queues.size, 4)
    let isIdle = false
    const idle = queues.idle().then(() => {
      isIdle = true
    })
    while (running.length > 0) {
      assert.strictEqual(isIdle, false)
      await running[0]?.end(NEUTRAL)
    }
    await idle
  })
})
