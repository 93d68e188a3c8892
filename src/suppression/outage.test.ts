import { assert } from 'chai'
import { decidePending, type PendingDecision, type PendingState } from './pending-suppressions.ts'
import { isOutage, type BounceCounts } from './outage.ts'
import { receiverOf } from './receiver.ts'
import { bounceRuleFor, bounceRuleName } from './bounce-rules.ts'

const HOUR_MS = 3_600_000
const hours = (hard: number, delivered: number): BounceCounts => ({ hard, delivered })

describe('outages of receivers', () => {
  const JUMPS: readonly (readonly [what: string, now: BounceCounts, week: BounceCounts, isSo: boolean])[] = [
    ['few hard bounces', hours(19, 0), hours(0, 1000), false],
    ['all refused, where nearly none was', hours(20, 0), hours(5, 1000), true],
    ['a fifth refused, where nearly none was', hours(20, 80), hours(5, 1000), false],
    ['a little more than a fifth', hours(21, 79), hours(5, 1000), true],
    ['a fifth refused, as always', hours(100, 400), hours(200, 800), false],
    ['half refused, where a fifth was', hours(250, 250), hours(200, 800), false],
    ['nearly all refused, where a fifth was', hours(450, 50), hours(200, 800), true],
    ['nothing known of the receiver, all refused', hours(30, 0), hours(0, 0), true],
    ['nothing known of the receiver, few of many', hours(30, 300), hours(0, 0), false],
    ['little known', hours(30, 0), hours(100, 99), true],
    ['nothing at all', hours(0, 0), hours(0, 0), false],
  ]
  for (const [what, now, week, isSo] of JUMPS)
    it(`${what}: ${isSo ? 'an outage' : 'none'}`, () => assert.strictEqual(isOutage(now, week), isSo))

  const pending = (change: Partial<PendingState> = {}): PendingState => ({
    hold: 'outage',
    ageMs: HOUR_MS,
    acceptedMail: false,
    isOutage: true,
    wasOutage: true,
    ...change,
  })
  const ENDS: readonly (readonly [what: string, state: PendingState, ending: PendingDecision])[] = [
    ['the outage goes on', pending(), 'keep'],
    ['the outage goes on for a day', pending({ ageMs: 24 * HOUR_MS }), 'write'],
    ['the outage is over', pending({ isOutage: false }), 'ask-again'],
    ['there was none, by what is counted by now', pending({ wasOutage: false }), 'write'],
    ['the address accepted mail', pending({ acceptedMail: true }), 'drop'],
    ['a proof is awaited', pending({ hold: 'proof' }), 'keep'],
    ['a proof is awaited, and mail was accepted', pending({ hold: 'proof', acceptedMail: true }), 'drop'],
    ['a proof is awaited for a month', pending({ hold: 'proof', ageMs: 31 * 24 * HOUR_MS }), 'drop'],
  ]
  for (const [what, state, ending] of ENDS)
    it(`${what}: ${ending}`, () => assert.strictEqual(decidePending(state), ending))

  const RECEIVERS: readonly (readonly [host: string | null, receiver: string])[] = [
    ['alt1.aspmx.l.google.com', 'google.com'],
    ['mx1.mail.example.co.uk', 'example.co.uk'],
    ['192.0.2.1', '192.0.2.1'],
    ['MX', 'mx'],
    [null, 'b.example'],
  ]
  for (const [host, receiver] of RECEIVERS)
    it(`${host ?? 'no host'} is ${receiver}`, () => assert.strictEqual(receiverOf(host, 'b.example'), receiver))
})

describe('rules of bounces', () => {
  const ROWS: readonly (readonly [name: string, status: string | null, rule: string | null])[] = [
    ['no-such-user', '5.1.1', 'no-such-user@1'],
    ['no-such-user', null, 'no-such-user@1'],
    ['no-such-user', '5.7.1', null],
    ['no-such-user', '4.7.0', null],
    ['mailbox-full', '5.2.2', null],
    ['mailbox-disabled', '5.2.1', null],
    ['policy', null, null],
    ['constructor', null, null],
    ['', null, null],
  ]
  for (const [name, status, rule] of ROWS) {
    it(`${name || 'nothing'} with ${status ?? 'no status'}: ${rule ?? 'none'}`, () => {
      const found = bounceRuleFor(name, status)
      assert.strictEqual(found === null ? null : bounceRuleName(found), rule)
    })
  }
})
