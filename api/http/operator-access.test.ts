import { assert } from 'chai'
import { createAttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import type { Refusal } from '#src/platform/errors.ts'
import { openLog } from '#src/platform/log.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { MAX_REFUSED, refuseOperator } from './operator-access.ts'

const TOKEN = 'the token'
const log = openLog({ logLevel: 'silent' }, 'test')

describe('access with the operator token', () => {
  let redis: Redis
  let nowMs = 1_000_000
  let raised: string[]
  let ask: (credential: string | null, address?: string) => Promise<Refusal | null>
  before(() => {
    redis = openRedis('unix:///nonexistent/redis.sock', log)
  })
  after(() => redis.disconnect())
  beforeEach(() => {
    raised = []
    const ctx = {
      attempts: createAttemptLimiter(redis, { now: () => nowMs }),
      operatorToken: { matches: (given: string) => given === TOKEN },
      notices: { raise: ({ kind }: { kind: string }) => void raised.push(kind), stop: () => Promise.resolve() },
      log,
    }
    ask = (credential, address = '192.0.2.1') => refuseOperator(ctx, { id: 'r', address, route: 'any', credential })
  })

  it('opens with the token, and not without one', async () => {
    assert.strictEqual(await ask(TOKEN), null)
    assert.strictEqual((await ask(null))?.error, 'UNAUTHORIZED')
    assert.deepEqual(raised, [])
  })
  it('raises a notice for each refused token, and limits a network also with the right token', async () => {
    for (let i = 0; i < MAX_REFUSED.max; i++) assert.strictEqual((await ask(`guess ${i}`))?.error, 'UNAUTHORIZED')
    assert.deepEqual(raised, Array(MAX_REFUSED.max).fill('operator-token-refused'))
    for (const credential of ['one more', TOKEN, null]) {
      const refusal = await ask(credential)
      assert.deepEqual([refusal?.error, refusal?.retryAfter], ['RATE_LIMITED', MAX_REFUSED.windowMs / 1000])
    }
    assert.strictEqual(await ask(TOKEN, '192.0.2.2'), null, 'another network')
    nowMs += MAX_REFUSED.windowMs
    assert.strictEqual(await ask(TOKEN), null, 'after the window')
  })
  it('counts a /64 of IPv6 as one network, and requests without a token not at all', async () => {
    for (let i = 0; i <= MAX_REFUSED.max; i++) await ask(null)
    for (let i = 0; i < MAX_REFUSED.max; i++) await ask('guess', `2001:db8::${i}`)
    assert.strictEqual(await ask(TOKEN), null)
    assert.strictEqual((await ask(TOKEN, '2001:db8::ffff'))?.error, 'RATE_LIMITED')
    assert.strictEqual(await ask(TOKEN, '2001:db8:0:1::1'), null)
  })
})
