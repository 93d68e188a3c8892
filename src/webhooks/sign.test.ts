import { createHmac } from 'node:crypto'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { signingKeyOf, newSecret } from './secret.ts'
import { signatureHeaders } from './sign.ts'

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
