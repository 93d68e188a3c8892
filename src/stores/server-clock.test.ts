import { assert } from 'chai'
import { clockProblem, createServerClock, describeSkew, type ServerClock } from './server-clock.ts'

const HOUR_MS = 3_600_000
/** The server's time when the monotonic clock of the machine is 0. */
const SERVER_MS = Date.UTC(2026, 0, 1)

interface Case {
  readonly clock: ServerClock
  /** The machine's clock is ahead of the server's by this. */
  aheadMs: number
  /** Time passes, on all clocks. */
  pass(ms: number): void
  /** A measurement with this time between the request and its reply; the server reads its clock in the middle. */
  measure(roundTripMs?: number, serverAheadMs?: number): void
}

function clockOf(aheadMs: number): Case {
  let monotonicMs = 0
  const one: Case = {
    aheadMs,
    clock: createServerClock(
      () => SERVER_MS + monotonicMs + one.aheadMs,
      () => monotonicMs,
    ),
    pass: (ms) => {
      monotonicMs += ms
    },
    measure: (roundTripMs = 0, serverAheadMs = 0) => {
      const sentAt = monotonicMs
      monotonicMs += roundTripMs
      const serverMs = SERVER_MS + (sentAt + monotonicMs) / 2 + serverAheadMs
      one.clock.observe({ sentAt, receivedAt: monotonicMs, serverMs })
    },
  }
  return one
}

describe("the server's clock", () => {
  it('is the clock of the machine before the first measurement, and the skew is unknown', () => {
    const { clock } = clockOf(3 * HOUR_MS)
    assert.deepEqual([clock.now(), clock.skewMs()], [SERVER_MS + 3 * HOUR_MS, null])
  })
  it('is right on a machine that is hours ahead or behind, and reports by how much', () => {
    for (const aheadMs of [3 * HOUR_MS, -3 * HOUR_MS]) {
      const one = clockOf(aheadMs)
      one.measure()
      one.pass(90_000)
      assert.deepEqual([one.clock.now(), one.clock.skewMs()], [SERVER_MS + 90_000, aheadMs])
    }
  })
  it('does not follow a step of the clock of the machine, and reports it at once', () => {
    const one = clockOf(0)
    one.measure()
    one.aheadMs = HOUR_MS
    assert.deepEqual([one.clock.now(), one.clock.skewMs()], [SERVER_MS, HOUR_MS])
  })
  it('keeps an exact measurement when a slow one agrees with it', () => {
    const one = clockOf(0)
    one.measure(1)
    one.pass(1000)
    one.measure(400, 150)
    assert.isAtMost(Math.abs(one.clock.skewMs() ?? Infinity), 1)
  })
  it('follows a slow measurement that contradicts the known time: another server answers', () => {
    const one = clockOf(0)
    one.measure(1)
    one.pass(1000)
    one.measure(400, -HOUR_MS)
    assert.approximately(one.clock.skewMs() ?? 0, HOUR_MS, 200)
  })
  it('follows a drift of the clocks', () => {
    const one = clockOf(0)
    for (let second = 0; second < 1000; second++) {
      one.pass(1000)
      one.measure(2, second / 10)
    }
    assert.approximately(one.clock.skewMs() ?? 0, -100, 2)
  })
  it('is a whole number of milliseconds', () => {
    const one = clockOf(0)
    one.measure(0.3)
    one.pass(0.4)
    assert.isTrue(Number.isInteger(one.clock.now()))
  })
  it('is a problem beyond the bound, and before the first measurement', () => {
    const one = clockOf(299_000)
    assert.match(clockProblem(one.clock, 300) ?? '', /was not compared/)
    one.measure()
    assert.isNull(clockProblem(one.clock, 300))
    one.aheadMs = -301_000
    assert.strictEqual(clockProblem(one.clock, 300), "the clock of this machine is 5 min behind PostgreSQL's")
    assert.strictEqual(describeSkew(40 * 24 * HOUR_MS), "the clock of this machine is 40 days ahead of PostgreSQL's")
  })
})
