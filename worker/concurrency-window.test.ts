/**
 * Simulated endpoints that serve some requests at once and let the others wait. Virtual time: no timer, no request.
 */
import { assert } from 'chai'
import type { LoadSignal } from '#src/webhooks/attempt.ts'
import { firstWindow, nextWindow, type ConcurrencyWindow } from './concurrency-window.ts'

const BOUNDS = { firstWindow: 1, maxWindow: 64, timeoutMs: 10_000 }

interface Endpoint {
  /** Requests that it handles at once. */
  readonly servers: number
  readonly serviceMs: (nr: number) => number
}

interface Load {
  readonly requests: number
  /** Processes that send to it, each with its own window. */
  readonly senders: number
}

interface Simulated {
  /** Requests that took longer than the time limit, which the sender repeats. */
  readonly late: number
  readonly widest: number
  readonly totalMs: number
}

interface Running {
  readonly sender: number
  readonly endsAt: number
  readonly durationMs: number
  readonly wasFull: boolean
}

/** Sends all requests as fast as the windows permit. */
function simulate({ servers, serviceMs }: Endpoint, { requests, senders }: Load): Simulated {
  const windows: ConcurrencyWindow[] = Array.from({ length: senders }, () => firstWindow(BOUNDS))
  const freeAt: number[] = Array.from({ length: servers }, () => 0)
  const running: Running[] = []
  let [sent, now, late, widest] = [0, 0, 0, 0]
  const runningOf = (sender: number): number => running.filter((one) => one.sender === sender).length

  function start(sender: number, places: number): void {
    const server = freeAt.indexOf(Math.min(...freeAt))
    const endsAt = Math.max(now, freeAt[server] ?? 0) + serviceMs(sent)
    freeAt[server] = endsAt
    sent++
    running.push({ sender, endsAt, durationMs: endsAt - now, wasFull: runningOf(sender) + 1 >= places })
  }

  for (;;) {
    for (const [sender, { size }] of windows.entries()) {
      const places = Math.floor(size)
      widest = Math.max(widest, places)
      while (sent < requests && runningOf(sender) < places) start(sender, places)
    }
    const ended = running.toSorted((a, b) => a.endsAt - b.endsAt)[0]
    if (ended === undefined) return { late, widest, totalMs: now }
    running.splice(running.indexOf(ended), 1)
    now = ended.endsAt
    const { sender, durationMs, wasFull } = ended
    const isLate = durationMs > BOUNDS.timeoutMs
    if (isLate) late++
    const signal: LoadSignal = isLate ? { kind: 'overload' } : { kind: 'success', durationMs }
    windows[sender] = nextWindow(windows[sender] ?? firstWindow(BOUNDS), signal, BOUNDS, wasFull)
  }
}

const steady =
  (ms: number): Endpoint['serviceMs'] =>
  () =>
    ms
const CASES: readonly (readonly [string, Endpoint, Load, { readonly widest: readonly [number, number] }])[] = [
  ['one at a time, 5 ms', { servers: 1, serviceMs: steady(5) }, { requests: 2000, senders: 1 }, { widest: [32, 64] }],
  ['one at a time, 300 ms', { servers: 1, serviceMs: steady(300) }, { requests: 300, senders: 1 }, { widest: [2, 8] }],
  ['one at a time, 700 ms', { servers: 1, serviceMs: steady(700) }, { requests: 180, senders: 1 }, { widest: [2, 3] }],
  [
    'one at a time, 700 ms, and four workers',
    { servers: 1, serviceMs: steady(700) },
    { requests: 360, senders: 4 },
    { widest: [1, 4] },
  ],
  [
    'one at a time, 400 to 1200 ms',
    { servers: 1, serviceMs: (nr) => 400 + ((nr * 397) % 801) },
    { requests: 360, senders: 2 },
    { widest: [2, 6] },
  ],
  ['one at a time, 3 s', { servers: 1, serviceMs: steady(3000) }, { requests: 60, senders: 1 }, { widest: [1, 2] }],
  ['one at a time, 6 s', { servers: 1, serviceMs: steady(6000) }, { requests: 20, senders: 1 }, { widest: [1, 1] }],
  ['four at a time, 2 s', { servers: 4, serviceMs: steady(2000) }, { requests: 200, senders: 1 }, { widest: [4, 8] }],
  [
    'all at once, 50 ms',
    { servers: 1000, serviceMs: steady(50) },
    { requests: 5000, senders: 1 },
    { widest: [64, 64] },
  ],
  [
    'all at once, 3 s',
    { servers: 1000, serviceMs: steady(3000) },
    { requests: 1000, senders: 1 },
    { widest: [64, 64] },
  ],
  [
    'suddenly four times slower',
    { servers: 2, serviceMs: (nr) => (nr < 200 ? 200 : 800) },
    { requests: 400, senders: 2 },
    { widest: [4, 20] },
  ],
]

describe('concurrency window', () => {
  for (const [name, endpoint, load, { widest }] of CASES) {
    it(`no request to an endpoint takes too long: ${name}`, () => {
      const simulated = simulate(endpoint, load)
      assert.strictEqual(simulated.late, 0)
      assert.ok(
        simulated.widest >= widest[0] && simulated.widest <= widest[1],
        `the widest window was ${simulated.widest}`,
      )
    })
  }

  it('uses an endpoint that handles many at once', () => {
    const { totalMs } = simulate({ servers: 1000, serviceMs: steady(50) }, { requests: 6400, senders: 1 })
    assert.ok(totalMs < 2 * (6400 / 64) * 50, `${totalMs} ms`)
  })

  const success = (durationMs: number): LoadSignal => ({ kind: 'success', durationMs })
  const at = (size: number, loneMs: number | null = 100): ConcurrencyWindow => ({ size, loneMs, isStarting: false })
  const STEPS: readonly (readonly [string, ConcurrencyWindow, LoadSignal, boolean, number])[] = [
    ['one more a round trip', at(4), success(100), true, 4.25],
    ['an unused place proves nothing', at(4), success(100), false, 4],
    ['never above the maximum', at(64), success(100), true, 64],
    ['others wait: stays', at(4), success(1200), true, 4],
    ['as slow as a lone one: grows', at(4, 2000), success(2100), true, 4.25],
    ['one more could take too long: stays', at(4, 3500), success(4000), true, 4],
    ['others wait for half of the time limit: shrinks', at(8), success(5100), true, 6],
    ['a timeout or refusal halves', at(8), { kind: 'overload' }, true, 4],
    ['at least one', at(1), { kind: 'overload' }, true, 1],
    ['an answer without a meaning changes nothing', at(8), { kind: 'neutral' }, true, 8],
  ]
  for (const [name, window, signal, wasFull, size] of STEPS)
    it(name, () => assert.strictEqual(nextWindow(window, signal, BOUNDS, wasFull).size, size))

  it('the response time of a lone request is measured again whenever there is one', () => {
    const slower = nextWindow(at(1, 100), success(2000), BOUNDS, true)
    assert.strictEqual(slower.loneMs, 2000)
    assert.strictEqual(nextWindow(at(4, 2000), success(500), BOUNDS, true).loneMs, 500)
  })
})
