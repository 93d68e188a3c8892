/**
 * Why a claimed recipient must not be sent any more: its address is suppressed, its contact left the audience or was
 * deleted, or the message expired. Pure: it decides on the data that the claim loaded.
 */
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { endOfLifetime } from '#src/messages/transition-for-outcome.ts'

export interface CancellationClock {
  /** Epoch ms. */
  now(): number
  /** MESSAGE_LIFETIME_SECONDS; null: by tier. */
  readonly lifetimeSeconds: number | null
}

/** The outcome that ends the recipient without an attempt; null: it may be sent. */
export function findCancellation(claimed: ClaimedRecipient, clock: CancellationClock): Outcome | null {
  return suppressed(claimed) ?? unsubscribed(claimed) ?? tooOld(claimed, clock)
}

function suppressed({ suppression }: ClaimedRecipient): Outcome | null {
  if (suppression === null) return null
  const detail = `the address is on the suppression list: ${suppression.cause}`
  return { kind: 'suppressed', reason: 'suppressed', detail, cause: suppression.cause, causeKind: suppression.kind }
}

/** Campaigns and automations: the contact left the audience, unsubscribed from all mail, or was deleted. */
function unsubscribed({ deferredContent, contact }: ClaimedRecipient): Outcome | null {
  if (deferredContent === null) return null
  if (contact === null) return { kind: 'failed', reason: 'contact-gone', detail: 'the contact was deleted' }
  if (contact.isSubscribed !== false) return null
  return {
    kind: 'suppressed',
    reason: 'suppressed',
    detail: 'the contact unsubscribed after the mail was queued',
    cause: 'unsubscribed',
    causeKind: 'unsubscribe',
  }
}

function tooOld(claimed: ClaimedRecipient, clock: CancellationClock): Outcome | null {
  const last = endOfLifetime(claimed, clock.lifetimeSeconds)
  if (clock.now() <= last) return null
  const detail = `the message expired at ${new Date(last).toISOString()}, before it could be sent`
  return { kind: 'failed', reason: 'too-old', detail }
}
