import { assert } from 'chai'
import type { HttpResult } from '#src/net/http-client.ts'
import { evaluateResponse, MAX_ATTEMPTS } from './response-policy.ts'

const answered = (status: number): HttpResult => ({
  ok: true,
  status,
  body: '',
  location: null,
  contentType: null,
  durationMs: 1,
})
const LOST: HttpResult = { ok: false, reason: 'connect', detail: 'connect ECONNREFUSED 192.0.2.1:443', durationMs: 1 }

describe('responses of webhook endpoints', () => {
  const cases: readonly (readonly [string, HttpResult, string, RegExp | null])[] = [
    ...[200, 201, 202, 204, 299].map((status) => [String(status), answered(status), 'delivered', null] as const),
    ...[300, 301, 302, 307, 308].map(
      (status) => [String(status), answered(status), 'pending', /redirects are not followed/] as const,
    ),
    ...[400, 401, 404, 409, 429, 500, 503].map(
      (status) => [String(status), answered(status), 'pending', new RegExp(`answered ${status}`)] as const,
    ),
    ['410', answered(410), 'failed', /410 Gone/],
    ['no connection', LOST, 'pending', /ECONNREFUSED/],
  ]
  for (const [name, posted, state, error] of cases) {
    it(`${name} to the first try: ${state}`, () => {
      const verdict = evaluateResponse(posted, 0, 1)
      assert.strictEqual(verdict.state, state)
      assert.strictEqual(verdict.isGone, name === '410')
      assert.strictEqual(verdict.nextInMs !== null, state === 'pending')
      if (error === null) assert.strictEqual(verdict.error, null)
      else assert.match(verdict.error ?? '', error)
    })
  }

  // the contract: immediately, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h
  const waits = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600]
  for (const [tries, seconds] of waits.entries()) {
    it(`failed try ${tries + 1} is repeated after ${seconds} s, plus or minus a tenth`, () => {
      for (let i = 0; i < 100; i++) {
        const { nextInMs } = evaluateResponse(answered(500), tries, 1)
        assert.ok(nextInMs !== null && nextInMs >= seconds * 900 && nextInMs <= seconds * 1100, String(nextInMs))
      }
    })
  }

  it('the eighth try is the last', () => {
    assert.strictEqual(MAX_ATTEMPTS, waits.length + 1)
    assert.deepEqual(evaluateResponse(answered(500), MAX_ATTEMPTS - 1, 1), {
      state: 'failed',
      nextInMs: null,
      isGone: false,
      error: 'answered 500',
    })
    assert.strictEqual(evaluateResponse(answered(200), MAX_ATTEMPTS - 1, 1).state, 'delivered')
  })

  it('RETRY_SCALE multiplies the waits', () => {
    const { nextInMs } = evaluateResponse(LOST, 0, 0.01)
    assert.ok(nextInMs !== null && nextInMs >= 45 && nextInMs <= 55)
  })
})
