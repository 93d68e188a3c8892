import { assert } from 'chai'
import type { QueuePosition } from '#src/queue/site-state.ts'
import { GATE_NAMES, evaluateGates, type GateFacts, type Gate, type GateName } from './gates.ts'
import type { AttemptView, MessageView, RecipientView } from './read.ts'
import { isOpen, STATES, type State } from './state.ts'

const NOW = new Date('2031-01-10T00:00:00Z')
const LATER = new Date('2031-01-10T00:05:00Z')
const EARLIER = new Date('2031-01-09T23:00:00Z')
const recipient = (more: Partial<RecipientView> = {}): RecipientView => ({
  address: 'a@b.example',
  destination: 'b.example',
  kind: 'to',
  state: 'queued',
  reason: null,
  tries: 0,
  nextTryAt: EARLIER,
  updatedAt: EARLIER,
  attempts: [],
  ...more,
})
const message = (more: Partial<MessageView> = {}): MessageView => ({
  id: '019a9a00-0000-7000-8000-0000000000aa',
  status: 'queued',
  tier: 'normal',
  from: { email: 'a@c.example', name: null },
  to: [],
  cc: [],
  subject: '',
  submitted: null,
  tags: [],
  metadata: null,
  template: null,
  campaignId: null,
  requestId: null,
  scheduledAt: null,
  timezone: null,
  createdAt: EARLIER,
  recipients: [],
  events: [],
  ...more,
})
const place = (more: Partial<QueuePosition> = {}): QueuePosition => ({
  site: 'mx.b.example',
  isScheduled: false,
  ahead: {},
  states: [],
  isWaiting: false,
  failure: null,
  ...more,
})
const facts = (more: Partial<GateFacts> = {}): GateFacts => ({
  message: message(),
  recipient: recipient(),
  now: NOW,
  suppression: null,
  suspension: null,
  receiverSuspension: null,
  retryScale: 1,
  place: place(),
  usage: { plan: 'free', used: 7, quota: 100, periodEndsAt: new Date('2031-02-01T00:00:00Z') },
  ...more,
})
const gate = (given: GateFacts, name: GateName): Gate => {
  const found = evaluateGates(given).find((one) => one.gate === name)
  assert.ok(found !== undefined)
  return found
}
const dns = (reason: string): AttemptView => ({
  attempt: 1,
  at: EARLIER,
  outcome: 'deferred',
  scope: 'destination',
  reason,
  replyCode: null,
  replyStatus: null,
  replyText: null,
  host: null,
  address: null,
  source: null,
  tls: null,
  durationMs: 1,
  conversation: '',
})
const full = {
  sessions: 5,
  connections: 5,
  isFull: { instant: true, others: true },
  rule: 'Google',
  pace: 'google',
  paceSource: 'default',
  source: null,
  waiting: 3,
  waitingNames: [],
}
const failure = { reason: 'unreachable', detail: 'refused', atMs: 0, breakerUntilMs: LATER.getTime(), failures: 4 }
const entry = {
  address: 'a@b.example',
  kind: 'complaint',
  cause: 'spam',
  reply: null,
  rule: null,
  eventId: null,
  messageId: null,
  apiKeyId: null,
  createdAt: EARLIER,
  updatedAt: EARLIER,
} as const

/** What is so, the gates that then hold, and until when the first of them does. */
const HELD: readonly (readonly [name: string, facts: GateFacts, holds: readonly GateName[], until: Date | null])[] = [
  ['nothing in the way', facts(), [], null],
  [
    'scheduled for later',
    facts({ message: message({ scheduledAt: LATER }), recipient: recipient({ state: 'scheduled', nextTryAt: LATER }) }),
    ['schedule'],
    LATER,
  ],
  [
    'scheduled, after its time',
    facts({ message: message({ scheduledAt: EARLIER }), recipient: recipient({ state: 'scheduled' }) }),
    [],
    null,
  ],
  [
    'no source may send it',
    facts({
      recipient: recipient({ nextTryAt: LATER, reason: 'no source of its pool can send it now (a is paused)' }),
    }),
    ['egress'],
    LATER,
  ],
  [
    'its source is at the limit of the receiver',
    facts({
      recipient: recipient({
        nextTryAt: LATER,
        reason: 'a has more mail for this receiver than it may send now: it waits for its turn',
      }),
    }),
    ['site limit'],
    LATER,
  ],
  ['queued for another reason', facts({ recipient: recipient({ nextTryAt: LATER, reason: 'released' }) }), [], null],
  ['on the list', facts({ suppression: entry }), ['suppression'], null],
  ['higher tiers ready', facts({ place: place({ ahead: { instant: 2 } }) }), ['tier'], null],
  [
    'higher tiers ready, and not due',
    facts({ place: place({ ahead: { instant: 2 } }), recipient: recipient({ state: 'deferred', nextTryAt: LATER }) }),
    ['backoff'],
    LATER,
  ],
  [
    'instant, all sessions in use',
    facts({ message: message({ tier: 'instant' }), place: place({ states: [full] }) }),
    ['site limit'],
    null,
  ],
  [
    'instant, one session is reserved for it',
    facts({
      message: message({ tier: 'instant' }),
      place: place({ states: [{ ...full, isFull: { instant: false, others: true } }] }),
    }),
    [],
    null,
  ],
  [
    'another process has a free session',
    facts({ place: place({ states: [full, { ...full, isFull: { instant: false, others: false } }] }) }),
    [],
    null,
  ],
  [
    'claimed by a process, waiting for a session',
    facts({
      recipient: recipient({ state: 'sending', nextTryAt: null }),
      place: place({ states: [full], isWaiting: true }),
    }),
    ['site limit'],
    null,
  ],
  [
    'being sent',
    facts({ recipient: recipient({ state: 'sending', nextTryAt: null }), place: place({ states: [full] }) }),
    [],
    null,
  ],
  [
    'suspended',
    facts({
      suspension: { kind: 'domain', scope: 'mail', subject: '*', reason: 'x', createdAt: EARLIER, until: null },
    }),
    ['suspension'],
    null,
  ],
  [
    'its receiver is suspended by a rule',
    facts({
      receiverSuspension: {
        pace: 'yahoo',
        source: 'default',
        workspaceId: null,
        rule: 'yahoo-ts04',
        reply: '421 [TSS04]',
        until: LATER,
        createdAt: EARLIER,
      },
    }),
    ['suspension'],
    LATER,
  ],
  ['deferred', facts({ recipient: recipient({ state: 'deferred', nextTryAt: LATER, tries: 1 }) }), ['backoff'], LATER],
  ['lost after the dot', facts({ recipient: recipient({ state: 'unknown', nextTryAt: LATER }) }), ['backoff'], LATER],
  ['all servers failed', facts({ place: place({ failure }) }), ['backoff'], LATER],
  [
    'DNS',
    facts({ recipient: recipient({ state: 'deferred', nextTryAt: LATER, attempts: [dns('dns')] }) }),
    ['DNS'],
    LATER,
  ],
  [
    'DNS, after an earlier attempt',
    facts({ recipient: recipient({ state: 'deferred', nextTryAt: LATER, attempts: [dns('dns'), dns('busy')] }) }),
    ['backoff'],
    LATER,
  ],
  [
    'several gates',
    facts({
      suppression: entry,
      suspension: { kind: 'domain', scope: 'mail', subject: 'b.example', reason: 'x', createdAt: EARLIER, until: null },
      recipient: recipient({ state: 'deferred', nextTryAt: LATER }),
    }),
    ['suppression', 'suspension', 'backoff'],
    null,
  ],
]

describe('gates', () => {
  for (const [name, given, holds, until] of HELD) {
    it(`${name}: ${holds.join(', ') || 'none'}`, () => {
      const gates = evaluateGates(given)
      assert.deepEqual(
        gates.map((one) => one.gate),
        GATE_NAMES,
      )
      assert.deepEqual(
        gates.filter((one) => one.holds).map((one) => one.gate),
        holds,
      )
      assert.deepEqual(gates.find((one) => one.holds)?.until ?? null, until)
      for (const one of gates) assert.ok(one.says !== '' && (!one.holds || one.rule !== null), one.gate)
    })
  }
  it('no gate holds a settled recipient, except the suppression that ended it', () => {
    for (const state of (Object.keys(STATES) as State[]).filter((one) => !isOpen(one))) {
      const given = facts({
        recipient: recipient({ state, nextTryAt: null, reason: 'it was' }),
        suspension: { kind: 'domain', scope: 'mail', subject: '*', reason: 'x', createdAt: EARLIER, until: null },
        place: null,
      })
      assert.deepEqual(
        evaluateGates(given)
          .filter((one) => one.holds)
          .map((one) => one.gate),
        state === 'suppressed' ? ['suppression'] : [],
      )
    }
  })
  it('the quota never holds a stored message; when it is used up, the gate says until when', () => {
    const given = facts({ usage: { plan: 'free', used: 100, quota: 100, periodEndsAt: LATER } })
    assert.deepEqual(
      [gate(given, 'quota').holds, gate(given, 'quota').until, gate(given, 'quota').rule],
      [false, LATER, 'plan free: 100 recipients a month, 100 used'],
    )
  })
  it('without Redis, the gates that need it are "not known"', () => {
    for (const name of ['tier', 'site limit'] as const)
      assert.match(gate(facts({ place: null }), name).says, /^not known/)
  })
  it('says that a campaign is held back, and why', () => {
    const reason = 'held back: PTR: 192.0.2.7 has no name (PTR)'
    const suspension = {
      kind: 'campaign',
      scope: 'mail',
      subject: 'C',
      reason,
      createdAt: EARLIER,
      until: null,
    } as const
    const found = evaluateGates(facts({ suspension })).find(({ gate: name }) => name === 'suspension')
    assert.deepEqual([found?.holds, found?.says], [true, `its campaign is ${reason}`])
  })
})
