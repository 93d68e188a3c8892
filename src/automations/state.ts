/**
 * The life of an automation, and of one contact in it. These tables are the only place that knows which states and moves exist; the checks
 * of the database and docs/automations.md say the same (a test compares them).
 *
 *   draft ─activate→ active ─pause→ paused ─resume→ active
 *     └──────────────archive→ archived ←───archive──┘
 */
export const STATUSES = {
  draft: 'is being written; nobody is enrolled',
  active: 'enrols contacts and takes them from step to step',
  paused: 'enrols nobody; those who are in it stay where they are until it is active again',
  archived: 'is over for good; who was in it has left, and its figures are kept',
} as const
export type Status = keyof typeof STATUSES

export const MOVES = {
  activate: { from: ['draft'], to: 'active' },
  pause: { from: ['active'], to: 'paused' },
  resume: { from: ['paused'], to: 'active' },
  archive: { from: ['draft', 'active', 'paused'], to: 'archived' },
} as const satisfies Record<string, { readonly from: readonly Status[]; readonly to: Status }>

export const ENROLMENT_STATES = {
  active: 'is in the automation; its next step has a time at which it is due',
  completed: 'has been through the last step',
  exited: 'left before the end: by a step, by being unenrolled, or because the automation was archived',
} as const
export type EnrolmentState = keyof typeof ENROLMENT_STATES

/** May an automation go from one status to another? Staying is no move, and allowed. */
export function mayMove(from: Status, to: Status): boolean {
  return from === to || Object.values(MOVES).some((move) => move.to === to && move.from.some((one) => one === from))
}
