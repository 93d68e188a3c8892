import { assert } from 'chai'
import { createCircuitBreaker } from './circuit-breaker.ts'

describe('the circuit breaker of a site', () => {
  let now = 0
  beforeEach(() => {
    now = 1_000_000
  })
  const breaker = (scale = 1): ReturnType<typeof createCircuitBreaker> => createCircuitBreaker(() => now, scale)

  it('blocks attempts for a while after all hosts failed, with the reason', () => {
    const one = breaker()
    assert.strictEqual(one.beginAttempt('site'), null)
    one.failed('site', 'connection refused')
    assert.match(one.beginAttempt('site') ?? '', /connection refused/)
    assert.strictEqual(one.beginAttempt('other'), null)
  })
  it('admits a single probe when the pause is over', () => {
    const one = breaker()
    one.failed('site', 'refused')
    now += 1001
    assert.strictEqual(one.beginAttempt('site'), null)
    assert.notStrictEqual(one.beginAttempt('site'), null)
    one.succeeded('site')
    assert.strictEqual(one.beginAttempt('site'), null)
    assert.strictEqual(one.beginAttempt('site'), null)
  })
  it('admits another probe when the first one ended without a result', () => {
    const one = breaker()
    one.failed('site', 'refused')
    now += 1001
    assert.strictEqual(one.beginAttempt('site'), null)
    one.released('site')
    assert.strictEqual(one.beginAttempt('site'), null)
    one.released('other')
    assert.strictEqual(one.beginAttempt('other'), null)
  })
  it('pauses longer after each failure, up to a minute; simultaneous failures count once', () => {
    const one = breaker()
    const waits = [1, 2, 4, 8, 16, 32, 60, 60]
    for (const seconds of waits) {
      for (let i = 0; i < 10; i++) one.failed('site', 'refused')
      now += seconds * 1000 - 1
      assert.notStrictEqual(one.beginAttempt('site'), null, `${seconds}`)
      now += 1
      assert.strictEqual(one.beginAttempt('site'), null, `${seconds}`)
    }
  })
  it('recovers with two connections, doubles the limit with each success, and opens again after a failure', () => {
    const one = breaker()
    assert.strictEqual(one.maxConnections('site'), Infinity)
    one.failed('site', 'refused')
    now += 1001
    assert.strictEqual(one.refusalReason('site'), null)
    assert.strictEqual(one.refusalReason('site'), null, 'asking is not trying')
    assert.strictEqual(one.beginAttempt('site'), null)
    assert.notStrictEqual(one.refusalReason('site'), null)
    const limits: number[] = []
    for (let i = 0; i < 5; i++) {
      one.succeeded('site')
      limits.push(one.maxConnections('site'))
    }
    assert.deepEqual(limits, [2, 4, 8, 16, Infinity])
    one.failed('site', 'refused')
    now += 1001
    one.succeeded('site')
    assert.strictEqual(one.view('site'), null)
    one.failed('site', 'refused')
    assert.notStrictEqual(one.beginAttempt('site'), null)
    now += 1001
    one.succeeded('site')
    now += 60_000
    assert.strictEqual(one.maxConnections('site'), Infinity)
  })
  it('scales its pauses by RETRY_SCALE', () => {
    const one = breaker(0.01)
    one.failed('site', 'refused')
    now += 10
    assert.strictEqual(one.beginAttempt('site'), null)
  })
})
