import { assert } from 'chai'
import type { ClaimedRecipient } from './claim.ts'
import type { Attempt, Outcome } from './outcome.ts'
import { transitionFor } from './transition-for-outcome.ts'

const NOW = Date.UTC(2030, 0, 1)
const HOUR = 3600_000
const claimedOf = (replaced: Partial<ClaimedRecipient>): ClaimedRecipient =>
  ({
    messageId: 'm',
    n: 0,
    lease: 1,
    attempt: 1,
    tries: 0,
    tier: 'normal',
    beganAt: new Date(NOW),
    expiresAt: null,
    ...replaced,
  }) as ClaimedRecipient
const attemptOf = (outcome: Outcome): Attempt => ({
  outcome,
  host: null,
  address: null,
  source: null,
  tls: null,
  startedAt: NOW,
  durationMs: 1,
  conversation: '',
})
const reply = { code: 451, enhanced: '4.3.0', text: 'later', lines: [] }
const deferred = (isCounted: boolean): Outcome => ({
  kind: 'deferred',
  scope: 'message',
  reason: 'busy',
  detail: '451 later',
  reply: isCounted ? reply : null,
  isCounted,
})

const CASES: readonly [
  what: string,
  claimed: Partial<ClaimedRecipient>,
  outcome: Outcome,
  move: string,
  counted: boolean,
][] = [
  ['a first 4xx is retried', {}, deferred(true), 'defer', true],
  ['the third 4xx is retried', { tries: 2, attempt: 3 }, deferred(true), 'defer', true],
  ['the fourth 4xx uses the last retry of three', { tries: 3, attempt: 4 }, deferred(true), 'fail', true],
  ['instant mail has five retries', { tier: 'instant', tries: 4, attempt: 5 }, deferred(true), 'defer', true],
  ['and no sixth', { tier: 'instant', tries: 5, attempt: 6 }, deferred(true), 'fail', true],
  ['a dead host is no try, however often', { tries: 0, attempt: 40 }, deferred(false), 'defer', false],
  ['but age ends it', { attempt: 40, beganAt: new Date(NOW - 49 * HOUR) }, deferred(false), 'expire', false],
  ['its own expiry ends it', { expiresAt: new Date(NOW + 1000) }, deferred(true), 'expire', true],
  [
    'a 5xx bounces',
    {},
    { kind: 'bounced', scope: 'recipient', reason: 'no-such-user', isHard: true, detail: '550', reply },
    'bounce',
    true,
  ],
  [
    'a link lost after the dot is unknown',
    {},
    { kind: 'unknown', reason: 'lost-after-dot', detail: 'lost' },
    'mark_unknown',
    true,
  ],
  ['poison fails', {}, { kind: 'failed', reason: 'cannot-compose', detail: 'subject' }, 'fail', false],
  ['a claim that comes too late expires', {}, { kind: 'failed', reason: 'too-old', detail: 'over' }, 'expire', false],
]

describe('what an outcome means for a recipient', () => {
  for (const [what, claimed, outcome, move, counted] of CASES) {
    it(what, () => {
      const moving = transitionFor(claimedOf(claimed), attemptOf(outcome), {
        scale: 1,
        lifetimeSeconds: null,
        nowMs: NOW,
      })
      assert.strictEqual(moving.move, move)
      assert.strictEqual(moving.isCounted, counted)
    })
  }
  it('mail that the capture domain accepts is captured; mail that it rejects bounces', () => {
    const rules = { scale: 1, lifetimeSeconds: null, captureDomain: 'capture.example', nowMs: NOW }
    const at = (domain: string, outcome: Outcome): ReturnType<typeof transitionFor> =>
      transitionFor(claimedOf({ domain, submitted: null }), attemptOf(outcome), rules)
    const taken = at('capture.example', { kind: 'delivered', reply })
    assert.deepEqual(
      [taken.move, taken.eventData],
      ['capture', { reply: 'later', code: 451, tls: null, captured: true }],
    )
    assert.strictEqual(at('other.example', { kind: 'delivered', reply }).move, 'deliver')
    assert.strictEqual(
      at('capture.example', {
        kind: 'bounced',
        scope: 'recipient',
        reason: 'no-such-user',
        isHard: true,
        detail: '550',
        reply,
      }).move,
      'bounce',
    )
  })
  it('delays grow with the attempts, within their jitter, and scale', () => {
    const wait = (tries: number, scale = 1): number =>
      (transitionFor(claimedOf({ tries, attempt: tries + 1 }), attemptOf(deferred(true)), {
        scale,
        lifetimeSeconds: null,
        nowMs: NOW,
      }).dueAt?.getTime() ?? 0) - NOW
    for (const [tries, seconds] of [
      [0, 120],
      [1, 900],
      [2, 7200],
    ] as const) {
      for (let i = 0; i < 50; i++) assert.ok(Math.abs(wait(tries) - seconds * 1000) <= seconds * 100, `${tries}`)
      assert.ok(Math.abs(wait(tries, 0.01) - seconds * 10) <= seconds + 1)
    }
  })
  it('a configured lifetime overrules the tier', () => {
    const moving = transitionFor(claimedOf({ beganAt: new Date(NOW - 1000) }), attemptOf(deferred(true)), {
      scale: 0.001,
      lifetimeSeconds: 1,
      nowMs: NOW,
    })
    assert.strictEqual(moving.move, 'expire')
  })
})
