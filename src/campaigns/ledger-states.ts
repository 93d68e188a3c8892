/**
 * The states of one recipient in a campaign's ledger. Migration 018 has a CHECK constraint with the same names, and a
 * test compares the list with docs/guides/campaigns.md.
 */
export const LEDGER = {
  waiting: 'waits to be dispatched, or for its send time',
  dispatched: 'is in the queue',
  deferred: 'was tried or postponed and will be tried again; or its outcome is not known yet',
  sent: 'was handed over; delivery is not confirmed',
  delivered: 'the receiver accepted it',
  bounced: 'it cannot be delivered: the receiver refused it permanently, or would',
  failed: 'could not be sent, or not in time',
  suppressed: 'its address is on the suppression list, or it unsubscribed while the mail was in the queue',
  skipped: 'had left the audience, or was deleted, before its turn',
  cancelled: 'the campaign was cancelled before the mail left',
} as const
export type LedgerState = keyof typeof LEDGER
export const LEDGER_STATES = Object.keys(LEDGER) as [LedgerState, ...LedgerState[]]
