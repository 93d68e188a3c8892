import { assert } from 'chai'
import { composeReply } from '#src/mail/reply.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { classifyWarmUpSignal } from './warm-up-signal.ts'

const REPLY = composeReply(450, '4.7.0', 'slow down')
const deferred = (scope: 'recipient' | 'source' | 'host' | 'destination', reply = true): Outcome => ({
  kind: 'deferred',
  scope,
  reason: 'busy',
  detail: '',
  reply: reply ? REPLY : null,
  isCounted: reply,
})
const bounced = (scope: 'recipient' | 'source' | 'destination', reason: string): Outcome => ({
  kind: 'bounced',
  scope,
  reason,
  isHard: false,
  detail: '',
  reply: REPLY,
})

const ROWS: readonly [what: string, outcome: Outcome, verdict: ReturnType<typeof classifyWarmUpSignal>][] = [
  ['delivered', { kind: 'delivered', reply: REPLY }, 'accepted'],
  ['lost after the dot: the receiver had it', { kind: 'unknown', reason: '', detail: '' }, 'accepted'],
  ['an unknown user is about the recipient', bounced('recipient', 'no-such-user'), 'accepted'],
  ['put off for the recipient', deferred('recipient'), 'accepted'],
  ['greylisted, as everybody is', { ...deferred('source'), reason: 'greylisted' } as Outcome, 'accepted'],
  ['too much for now', deferred('destination'), 'throttled'],
  ['421', deferred('host'), 'throttled'],
  ['put off for the address', deferred('source'), 'throttled'],
  ['refused for the address', bounced('source', 'policy'), 'throttled'],
  ['refused at the greeting', { ...deferred('host', false), reason: 'greeting-refused' } as Outcome, 'throttled'],
  ['no server answered', deferred('host', false), null],
  ['no host has an address: our own words', bounced('destination', 'no-host'), null],
  ['poison', { kind: 'failed', reason: 'cannot-compose', detail: '' }, null],
]

describe('warm-up signal of an outcome', () => {
  for (const [what, outcome, verdict] of ROWS)
    it(what, () => assert.strictEqual(classifyWarmUpSignal(outcome), verdict))
})
