/** What a ledger says of one recipient; the check of migration 018 has the same words (a test compares them with docs/campaigns.md). */
export const LEDGER = {
  waiting: 'waits to be dispatched, or for its time',
  dispatched: 'is in the queue',
  deferred: 'was tried, or held, and is tried again; or what became of it is not known yet',
  sent: 'was handed over; whether it arrived is not known',
  delivered: 'the receiver took it',
  bounced: 'the receiver refused it for good',
  failed: 'could not be sent, or not in time',
  suppressed: 'its address is on the suppression list, or it unsubscribed while the mail was in the queue',
  skipped: 'had left the audience, or was deleted, when its turn came',
  cancelled: 'the campaign was cancelled before it left',
} as const
export type LedgerState = keyof typeof LEDGER
export const LEDGER_STATES = Object.keys(LEDGER) as [LedgerState, ...LedgerState[]]
