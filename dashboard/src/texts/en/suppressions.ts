const addresses = (count: number): string => (count === 1 ? '1 address' : `${count.toLocaleString('en')} addresses`)

/** The suppression list. */
export const suppressions = {
  title: 'Suppressions',
  description: 'Addresses that receive no mail from this workspace, each with its cause.',
  notLoaded: 'The suppression list did not load',
  entryNotLoaded: 'The entry did not load',
  emptyTitle: 'No address is suppressed',
  emptyText:
    'Addresses get here when a mailbox does not exist, when somebody reports mail as spam or unsubscribes, or when you add them.',
  search: 'Search addresses',
  counted: addresses,
  email: 'Address',
  cause: 'Cause',
  why: 'Why',
  since: 'Listed',
  changed: 'Cause changed',
  rule: 'Rule',
  reply: 'Reply of the receiver',
  showMessage: 'Show the message behind it',
  showMessages: 'All messages to this address',
  kinds: {
    complaint: 'Complaint',
    hard_bounce: 'Hard bounce',
    unsubscribe: 'Unsubscribed',
    unsubscribe_bulk: 'Bulk unsubscribed',
    manual: 'Added by hand',
    import: 'Imported',
  },
  meanings: {
    complaint: 'The recipient reported mail as spam.',
    hard_bounce: 'The receiver says that the mailbox does not exist.',
    unsubscribe: 'The recipient wants no mail from this workspace.',
    unsubscribe_bulk: 'The recipient wants no bulk mail. Mail of the other tiers goes out.',
    manual: 'Somebody added it to the list.',
    import: 'It was on a list that was imported.',
  },
  periods: { day: 'Last 24 hours', week: 'Last 7 days', month: 'Last 30 days', year: 'Last year' } as Readonly<
    Record<string, string>
  >,
  export: 'Export',
  import: 'Import',
  add: 'Add addresses',
  addTitle: 'Suppress addresses',
  addText: 'Mail to them is not sent any more, whatever key or campaign sends it.',
  addresses: 'Addresses',
  addressesHint: 'One a line, or separated by commas. Up to 1,000; import a file for more.',
  tooMany: 'More than 1,000 addresses. Import a file instead.',
  reason: 'Reason',
  reasonHint: 'Shown in the list.',
  addMany: (count: number) => (count === 0 ? 'Suppress' : `Suppress ${addresses(count)}`),
  addedToast: (added: number, listed: number) =>
    listed === 0
      ? `${addresses(added)} suppressed`
      : `${addresses(added)} suppressed, ${listed.toLocaleString('en')} were listed before`,
  remove: 'Remove from the list',
  removeTitle: (count: number) => `Remove ${addresses(count)} from the list?`,
  removeText: 'Mail is sent to them again, also mail that waits now.',
  removedToast: (count: number) => `${addresses(count)} removed from the list`,
  removeWarnings: {
    complaint: 'Somebody reported your mail as spam. More mail to them harms the reputation of your domain.',
    hard_bounce: 'The mailbox did not exist. If it still does not, the mail bounces again, and receivers count that.',
    unsubscribe: 'This person asked for no more mail. In many countries you need their consent to write again.',
    unsubscribe_bulk:
      'This person asked for no more bulk mail. In many countries you need their consent to write again.',
  } as Readonly<Record<string, string>>,
  importTitle: 'Import suppressed addresses',
  importText: 'A CSV file from here or from another service. Nothing is added twice, so an import can be repeated.',
  importHint: 'CSV with a column email; reason and kind are optional',
  importing: 'Importing',
  resultAdded: 'Added',
  resultListed: 'Listed before',
  resultInvalid: 'Rows without a valid address',
  line: 'Line',
  close: 'Close',
}
