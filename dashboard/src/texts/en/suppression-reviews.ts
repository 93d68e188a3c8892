/** Reviews of the suppression lists, in the operator area. */
const n = (count: number): string => count.toLocaleString('en')
const entries = (count: number): string => (count === 1 ? '1 entry' : `${n(count)} entries`)

export const suppressionReviews = {
  title: 'Reviews of suppressions',
  description:
    "Checks the hard bounces on the suppression lists of all workspaces by today's rules. An entry that they would not make was a mistake.",
  one: 'Review of suppressions',
  start: 'Start a review',
  startText:
    'An inbound process classifies the stored reports and replies again. Manual entries, complaints and imports stay.',
  what: 'What happens to mistakes',
  choices: {
    list: { label: 'List them', text: 'Nothing changes. You can remove what the review finds afterwards.' },
    lift: {
      label: 'Remove them',
      text: 'Mail to these addresses is accepted again. Each removal is in the audit log, and in the history of the contact.',
    },
  },
  remove: 'Remove the mistakes',
  removeTitle: 'Remove the mistakes from the suppression lists?',
  removeText: (count: number) =>
    `A second review checks all entries again, and removes those that are mistakes: ${n(count)} at present. Mail to these addresses is accepted again.`,
  requested: 'Requested',
  by: 'Requested by',
  unknown: 'Not known',
  ended: 'Ended',
  mode: 'Mistakes are',
  modes: { list: 'listed', lift: 'removed' },
  state: 'Status',
  states: { waiting: 'Waiting', running: 'Running', done: 'Done' },
  progress: 'Progress',
  checked: (checked: number, total: number | null) =>
    total === null ? `${entries(checked)} checked` : `${n(checked)} of ${entries(total)} checked`,
  checkedCount: 'Checked',
  found: 'Mistakes',
  removed: 'Removed',
  waitingTitle: 'The review waits for an inbound process',
  waitingText: 'It begins when one runs. If none starts within a day, the review is dropped.',
  mayLeave: 'You can leave this page: the review goes on.',
  noMistakes: 'No mistakes so far',
  noMistakesText: 'Entries that the rules of today would not make appear here while the review runs.',
  allRight: 'No mistakes',
  allRightText: 'Today the same addresses would be suppressed.',
  shown: (shown: number, count: number) => `The first ${n(shown)} of ${n(count)} are shown.`,
  address: 'Address',
  workspace: 'Workspace',
  rule: 'Added by the rule',
  class: 'Today read as',
  reply: 'Reply',
  empty: 'No reviews in the last day',
  emptyText: 'After an upgrade with other rules for bounces, a review finds addresses that were suppressed by mistake.',
  gone: 'This review is not stored any more',
  goneText: 'Reviews are stored for a day. Start another one.',
}
