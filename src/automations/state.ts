/**
 * The states of an automation and of one contact in it. These tables are the only definition of states and moves.
 * The CHECK constraints of the database and docs/guides/automations.md list the same names (a test compares them).
 *
 *   draft ─activate→ active ─pause→ paused ─resume→ active
 *     └──────────────archive→ archived ←───archive──┘
 */
export const STATUSES = {
  draft: 'being written; enrols nobody',
  active: 'enrols contacts and runs their steps',
  paused: 'enrols nobody; contacts stay at their step until it is active again',
  archived: 'ended for good; contacts have left, and its statistics remain',
} as const
export type Status = keyof typeof STATUSES

export const MOVES = {
  activate: { from: ['draft'], to: 'active' },
  pause: { from: ['active'], to: 'paused' },
  resume: { from: ['paused'], to: 'active' },
  archive: { from: ['draft', 'active', 'paused'], to: 'archived' },
} as const satisfies Record<string, { readonly from: readonly Status[]; readonly to: Status }>

export const ENROLMENT_STATES = {
  active: 'in the automation; its next step has a due time',
  completed: 'passed the last step',
  exited: 'left before the end: by a step, by unenrolling, or because the automation was archived',
} as const
export type EnrolmentState = keyof typeof ENROLMENT_STATES

/** Whether an automation may change from one status to another. Keeping the status is allowed. */
export function mayMove(from: Status, to: Status): boolean {
  return from === to || Object.values(MOVES).some((move) => move.to === to && move.from.some((one) => one === from))
}
