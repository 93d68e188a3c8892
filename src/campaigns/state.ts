/**
 * The states of a campaign. This table is the only definition of states and moves; the CHECK constraint of the database
 * and docs/guides/campaigns.md list the same names (a test compares them).
 *
 *   DRAFT ─schedule→ SCHEDULED ─start→ SENDING ─dispatch→ SENT ─complete→ COMPLETED
 *     ▲─────recall──────┘                │ ▲▲           │           │
 *     └─────────start────────────────────│ ││ ←──retry──┼───────────┘   (DRAFT may start at once)
 *                                  pause ▼ │ resume     │
 *                                      PAUSED ←───pause─┘
 *
 * fail ends a campaign that cannot start at its scheduled time; cancel withdraws what has not been sent; retry sends
 * again to the recipients whose message failed.
 */
export const CAMPAIGN_STATES = {
  DRAFT: 'was created, and is neither sent nor scheduled',
  SCHEDULED: 'is set to send at a future time',
  SENDING: 'is being dispatched to its recipients',
  PAUSED: 'was paused during dispatch',
  SENT: 'all of it is dispatched',
  COMPLETED: 'all of it is dispatched, and the outcome of each recipient is known',
  FAILED: 'failed before any email was sent',
  CANCELLED: 'was cancelled by hand before it was completed',
} as const
export type CampaignState = keyof typeof CAMPAIGN_STATES

export const CAMPAIGN_MOVES = {
  schedule: { from: ['DRAFT'], to: 'SCHEDULED' },
  recall: { from: ['SCHEDULED'], to: 'DRAFT' },
  start: { from: ['DRAFT', 'SCHEDULED'], to: 'SENDING' },
  pause: { from: ['SENDING', 'SENT'], to: 'PAUSED' },
  resume: { from: ['PAUSED'], to: 'SENDING' },
  dispatch: { from: ['SENDING'], to: 'SENT' },
  complete: { from: ['SENT'], to: 'COMPLETED' },
  retry: { from: ['SENT', 'COMPLETED'], to: 'SENDING' },
  fail: { from: ['SCHEDULED'], to: 'FAILED' },
  cancel: { from: ['SCHEDULED', 'SENDING', 'PAUSED', 'SENT'], to: 'CANCELLED' },
} as const satisfies Record<string, { readonly from: readonly CampaignState[]; readonly to: CampaignState }>
