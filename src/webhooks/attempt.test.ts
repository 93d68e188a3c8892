import { createHmac } from 'node:crypto'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import type { HttpResult } from '#src/net/http-client.ts'
import { evaluateResponse, MAX_ATTEMPTS, signatureHeaders } from './attempt.ts'
import { signingKeyOf, newSecret } from './secret.ts'

const now = (): number => Math.floor(Date.now() / 1000)

describe('webhook signatures', () => {
  it('match the example of the Standard Webhooks specification', () => {
    const headers = signatureHeaders([signingKeyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')], {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestampSeconds: 1614265330,
      body: '{"test": 2432232314}',
    })
    assert.strictEqual(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  it('verify with the standardwebhooks package, for any body', () => {
    fc.assert(
      fc.property(fc.json(), fc.string({ unit: 'grapheme' }), (json, text) => {
        const body = JSON.stringify({ json, text })
        const secret = newSecret()
        const headers = signatureHeaders([signingKeyOf(secret)], { id: 'evt_1', timestampSeconds: now(), body })
        assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
        assert.throws(() => new Webhook(newSecret()).verify(body, headers))
        assert.throws(() => new Webhook(secret).verify(`${body} `, headers))
        assert.throws(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'evt_2' }))
      }),
      { numRuns: 50 },
    )
  })

  it('exist for both secrets during a rotation; the simple one uses the newest', () => {
    const [newest, previous] = [newSecret(), newSecret()]
    const headers = signatureHeaders([signingKeyOf(newest), signingKeyOf(previous)], {
      id: 'evt_1',
      timestampSeconds: now(),
      body: '{}',
    })
    assert.strictEqual(headers['webhook-signature']?.split(' ').length, 2)
    for (const secret of [newest, previous]) new Webhook(secret).verify('{}', headers)
    assert.throws(() => new Webhook(newSecret()).verify('{}', headers))
    assert.strictEqual(
      headers['X-Webhook-Signature'],
      `sha256=${createHmac('sha256', newest).update('{}').digest('hex')}`,
    )
  })

  it('the simple one is made with the secret as shown, and the raw body', () => {
    const secret = newSecret()
    const body = '{"subject":"Grüße 🎉"}'
    const headers = signatureHeaders([signingKeyOf(secret)], { id: 'evt_1', timestampSeconds: 1, body })
    assert.strictEqual(
      headers['X-Webhook-Signature'],
      `sha256=${createHmac('sha256', secret).update(Buffer.from(body)).digest('hex')}`,
    )
  })

  it('are never omitted', () =>
    assert.throws(() => signatureHeaders([], { id: 'evt_1', timestampSeconds: 1, body: '' })))
})

const answered = (status: number): HttpResult => ({
  ok: true,
  status,
  bytes: Buffer.alloc(0),
  body: '',
  isComplete: true,
  isTimedOut: false,
  location: null,
  contentType: null,
  contentEncoding: null,
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
