import { assert } from 'chai'
import type { ParsedReport, ReportedRecipient } from '#mta/classify/report.ts'
import { STATES, type State } from '#src/messages/state.ts'
import { bounceDetailsOf, evaluateReport, type ReportEffect } from './report-evaluation.ts'

const OURS = 'ann@b.example'
const recipient = (change: Partial<ReportedRecipient> = {}): ReportedRecipient => ({
  address: OURS,
  hard: true,
  status: '5.1.1',
  class: 'no-such-user',
  action: 'failed',
  diagnostic: '550 no',
  ...change,
})
const report = (
  kind: ParsedReport['kind'],
  recipients: readonly ReportedRecipient[] = [recipient()],
  feedbackType: string | null = null,
): ParsedReport => ({ kind, recipients, feedbackType, originalMessageId: null })
const resultOf = (effect: ReportEffect): string => (effect.kind === 'nothing' ? effect.result : effect.kind)

describe('evaluation of reports', () => {
  const BOUNCED: Readonly<Record<State, string>> = {
    scheduled: 'repeated',
    queued: 'repeated',
    sending: 'waits',
    deferred: 'repeated',
    sent: 'bounce',
    unknown: 'bounce',
    delivered: 'bounce',
    captured: 'bounce',
    bounced: 'repeated',
    failed: 'repeated',
    suppressed: 'repeated',
    cancelled: 'repeated',
  }
  for (const state of Object.keys(STATES) as State[]) {
    it(`a bounce in state ${state}: ${BOUNCED[state]}`, () =>
      assert.strictEqual(resultOf(evaluateReport(report('bounce'), { address: OURS, state }, 0)), BOUNCED[state]))
  }
  const delivered = [recipient({ action: 'delivered', hard: false })]
  const ROWS: readonly (readonly [what: string, report: ParsedReport | null, state: State, result: string])[] = [
    ['a delivery', report('delivered', delivered), 'sent', 'confirm'],
    ['a delivery that is already known', report('delivered', delivered), 'delivered', 'repeated'],
    ['a relay', report('delivered', [recipient({ action: 'relayed' })]), 'sent', 'noted'],
    [
      'an expansion to several addresses, one of which failed',
      report('bounce', [recipient({ action: 'expanded', hard: false }), recipient({ address: 'bob@c.example' })]),
      'delivered',
      'noted',
    ],
    [
      'a delivery, and a failure of another address',
      report('bounce', [...delivered, recipient({ address: 'bob@c.example' })]),
      'sent',
      'confirm',
    ],
    [
      'a delay, and a failure of another address',
      report('bounce', [recipient({ action: 'delayed', hard: false }), recipient({ address: 'bob@c.example' })]),
      'delivered',
      'noted',
    ],
    ['a delay', report('delay'), 'delivered', 'noted'],
    ['a complaint: abuse', report('complaint', [], 'abuse'), 'delivered', 'complaint'],
    ['a complaint without a type', report('complaint'), 'delivered', 'complaint'],
    ['a complaint: opt-out', report('complaint', [], 'opt-out'), 'delivered', 'opt-out'],
    ['a complaint: not-spam', report('complaint', [], 'not-spam'), 'delivered', 'counted'],
    ['a type named like an object property', report('complaint', [], 'constructor'), 'delivered', 'counted'],
    ['an automatic reply', report('autoreply', []), 'delivered', 'counted'],
    ['another mail', report('other', []), 'delivered', 'counted'],
    ['an unreadable mail', null, 'delivered', 'unreadable'],
  ]
  for (const [what, given, state, result] of ROWS) {
    it(`${what}: ${result}`, () =>
      assert.strictEqual(resultOf(evaluateReport(given, { address: OURS, state }, 0)), result))
  }

  it('a recipient that is no longer stored: gone', () =>
    assert.strictEqual(resultOf(evaluateReport(report('bounce'), null, 0)), 'gone'))
  it('stops waiting for a delivery after many tries', () =>
    assert.strictEqual(
      resultOf(evaluateReport(report('bounce'), { address: OURS, state: 'sending' }, 1000)),
      'repeated',
    ))

  const other = (address: string, change: Partial<ReportedRecipient> = {}): ReportedRecipient =>
    recipient({ address, ...change })
  const FACTS: readonly (readonly [what: string, recipients: readonly ReportedRecipient[], facts: string])[] = [
    ['our recipient in another case', [recipient({ address: 'ANN@B.example' })], 'no-such-user!'],
    ['our recipient among others', [other('x@y.example', { hard: false }), recipient()], 'no-such-user!'],
    ['the same mailbox on an inner host', [other('Ann@mail.b.example')], 'no-such-user!'],
    ['the same mailbox without its subaddress', [other('"ann+shop"@b.example')], 'no-such-user!'],
    ['a member of a list of the same organisation', [other('nosuch@b.example')], 'forward-broken!'],
    ['the same local part at another organisation', [other('ann@y.example')], 'forward-broken!'],
    ['an address that it was forwarded to', [other('x@y.example')], 'forward-broken!'],
    [
      'several addresses that it was forwarded to, one with a soft bounce',
      [other('x@y.example'), other('z@y.example', { hard: false, class: 'mailbox-full' })],
      'mailbox-full',
    ],
    ['nobody', [], 'unknown'],
  ]
  for (const [what, recipients, facts] of FACTS) {
    it(`names ${what}: ${facts}`, () => {
      const { class: name, hard } = bounceDetailsOf({ recipients }, OURS)
      assert.strictEqual(name + (hard ? '!' : ''), facts)
    })
  }
})
