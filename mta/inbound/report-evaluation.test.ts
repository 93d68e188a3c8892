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
const told = (verdict: ReportEffect): string => (verdict.kind === 'nothing' ? verdict.result : verdict.kind)

describe('what a report means', () => {
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
      assert.strictEqual(told(evaluateReport(report('bounce'), { address: OURS, state }, 0)), BOUNCED[state]))
  }
  const delivered = [recipient({ action: 'delivered', hard: false })]
  const ROWS: readonly (readonly [what: string, report: ParsedReport | null, state: State, result: string])[] = [
    ['arrived', report('delivered', delivered), 'sent', 'confirm'],
    ['arrived, as we know', report('delivered', delivered), 'delivered', 'repeated'],
    ['passed on', report('delivered', [recipient({ action: 'relayed' })]), 'sent', 'noted'],
    [
      'arrived at some of those that ours stands for',
      report('bounce', [recipient({ action: 'expanded', hard: false }), recipient({ address: 'bob@c.example' })]),
      'delivered',
      'noted',
    ],
    [
      'arrived, and not at another',
      report('bounce', [...delivered, recipient({ address: 'bob@c.example' })]),
      'sent',
      'confirm',
    ],
    [
      'waiting, and another failed',
      report('bounce', [recipient({ action: 'delayed', hard: false }), recipient({ address: 'bob@c.example' })]),
      'delivered',
      'noted',
    ],
    ['late', report('delay'), 'delivered', 'noted'],
    ['abuse', report('complaint', [], 'abuse'), 'delivered', 'complaint'],
    ['abuse without a type', report('complaint'), 'delivered', 'complaint'],
    ['opt-out', report('complaint', [], 'opt-out'), 'delivered', 'opt-out'],
    ['not spam', report('complaint', [], 'not-spam'), 'delivered', 'counted'],
    ['a name of every object', report('complaint', [], 'constructor'), 'delivered', 'counted'],
    ['an answer', report('autoreply', []), 'delivered', 'counted'],
    ['something', report('other', []), 'delivered', 'counted'],
    ['nothing', null, 'delivered', 'unreadable'],
  ]
  for (const [what, given, state, result] of ROWS) {
    it(`${what}: ${result}`, () => assert.strictEqual(told(evaluateReport(given, { address: OURS, state }, 0)), result))
  }

  it('about nobody that we know: gone', () =>
    assert.strictEqual(told(evaluateReport(report('bounce'), null, 0)), 'gone'))
  it('does not wait for ever', () =>
    assert.strictEqual(told(evaluateReport(report('bounce'), { address: OURS, state: 'sending' }, 1000)), 'repeated'))

  const other = (address: string, change: Partial<ReportedRecipient> = {}): ReportedRecipient =>
    recipient({ address, ...change })
  const FACTS: readonly (readonly [what: string, recipients: readonly ReportedRecipient[], facts: string])[] = [
    ['our recipient, in other letters', [recipient({ address: 'ANN@B.example' })], 'no-such-user!'],
    ['our recipient among others', [other('x@y.example', { hard: false }), recipient()], 'no-such-user!'],
    ["another name in our recipient's organisation", [other('a.nn@mail.b.example')], 'no-such-user!'],
    ['one that it was passed on to', [other('x@y.example')], 'forward-broken!'],
    [
      'several that it was passed on to, one alive',
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
