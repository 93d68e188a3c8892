import { assert } from 'chai'
import type { Outcome } from '#src/messages/outcome.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import { ACCEPTED, attemptOf, claimedOf } from '#test/support/delivery.ts'
import { withSuppressionCandidate } from './hard-bounce.ts'

const reply = { code: 550, enhanced: '5.1.1', text: 'no such user', lines: [] }
const REFUSED = {
  kind: 'bounced',
  scope: 'recipient',
  reason: 'no-such-user',
  isHard: true,
  detail: '550 5.1.1',
  reply,
} as const
const LIVE = { isSandbox: false, captureDomain: 'capture.example' }

describe('hard bounces that may suppress an address', () => {
  const ROWS: readonly (readonly [what: string, outcome: Outcome, isCandidate: boolean])[] = [
    ['accepted mail', ACCEPTED, false],
    ['a hard refusal of the recipient', REFUSED, true],
    ['a soft refusal of the recipient', { ...REFUSED, isHard: false }, false],
    ['a refusal of the message', { ...REFUSED, scope: 'message' }, false],
    ['a refusal of our address', { ...REFUSED, scope: 'source' }, false],
    ['a hard failure known from DNS', { ...REFUSED, reply: null, reason: 'null-mx' }, true],
  ]
  const candidateOf = (
    outcome: Outcome,
    address = 'ada@a.example',
    config = LIVE,
  ): ReturnType<typeof withSuppressionCandidate> => {
    const [claimed, attempt] = [claimedOf({ address }), attemptOf(outcome)]
    const transition = transitionFor(claimed, attempt, { scale: 1, lifetimeSeconds: null, nowMs: 0 })
    return withSuppressionCandidate(config, claimed, attempt, { transition, nowMs: Date.now() })
  }
  for (const [what, outcome, isCandidate] of ROWS)
    it(`${what}: ${isCandidate ? 'may' : 'may not'}`, () => {
      assert.strictEqual(candidateOf(outcome).hardBounce !== null, isCandidate)
    })
  it('gives the event an id that the suppression names as its cause', () => {
    const { transition, hardBounce } = candidateOf(REFUSED)
    assert.ok(transition.eventId !== undefined)
    assert.strictEqual(hardBounce?.eventId, transition.eventId)
    assert.deepEqual([hardBounce?.class, hardBounce?.reply.status], ['no-such-user', '5.1.1'])
  })
  it('a simulated refusal of the sandbox does not suppress, so that its address can be used again', () => {
    assert.strictEqual(candidateOf(REFUSED, 'bounce-5.1.1@any.example', { ...LIVE, isSandbox: true }).hardBounce, null)
  })
})
