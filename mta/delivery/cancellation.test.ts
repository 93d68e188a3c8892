import { assert } from 'chai'
import { claimedOf } from '#test/support/delivery.ts'
import { findCancellation } from './cancellation.ts'

const NOW = Date.UTC(2026, 0, 1)
const deferredContent = { contentId: 'c', contactId: 'k', audienceId: null, params: null }
const contact = (isSubscribed: boolean | null): never => ({ isSubscribed }) as never

describe('cancellation', () => {
  const ROWS: readonly (readonly [what: string, fields: Parameters<typeof claimedOf>[0], reason: string | null])[] = [
    ['mail in time', {}, null],
    [
      'an address that was suppressed after it was accepted',
      { suppression: { cause: 'bounce', kind: 'hard' } },
      'suppressed',
    ],
    ['campaign mail of a deleted contact', { deferredContent }, 'contact-gone'],
    ['campaign mail of a contact that unsubscribed', { deferredContent, contact: contact(false) }, 'suppressed'],
    ['campaign mail of a subscribed contact', { deferredContent, contact: contact(true) }, null],
    ['mail to a contact in no audience', { deferredContent, contact: contact(null) }, null],
    ['mail past its expires_at', { expiresAt: new Date(NOW - 1) }, 'too-old'],
    [
      'a one-time code of an hour ago',
      { tier: 'instant', beganAt: new Date(NOW - 3_600_001), expiresAt: null },
      'too-old',
    ],
    ['bulk mail of an hour ago', { tier: 'bulk', beganAt: new Date(NOW - 3_600_001), expiresAt: null }, null],
  ]
  for (const [what, fields, reason] of ROWS) {
    it(`${what}: ${reason ?? 'is sent'}`, () => {
      const outcome = findCancellation(claimedOf(fields), { now: () => NOW, lifetimeSeconds: null })
      assert.strictEqual(outcome !== null && 'reason' in outcome ? outcome.reason : null, reason)
    })
  }
  it('MESSAGE_LIFETIME_SECONDS replaces the age of the tier', () => {
    const claimed = claimedOf({ tier: 'bulk', beganAt: new Date(NOW - 61_000), expiresAt: null })
    assert.strictEqual(findCancellation(claimed, { now: () => NOW, lifetimeSeconds: 60 })?.kind, 'failed')
  })
})
