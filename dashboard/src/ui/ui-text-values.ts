/**
 * The few texts that components need by themselves, and the locale of their numbers and times. All other texts are
 * properties.
 */
export interface UiTextValues {
  /** BCP 47 tag for numbers and times. */
  locale: string
  close: string
  copy: string
  copied: string
  loading: string
  noResults: string
  searchFailed: string
  previous: string
  next: string
  back: string
  search: string
  clear: string
  clearFilter: string
  addFilter: string
  apply: string
  loadMore: string
  showPassword: string
  hidePassword: string
  optional: string
  cancel: string
  confirm: string
  retry: string
  dismiss: string
  requestId: string
  documentation: string
  typeToConfirm: (text: string) => string
  remove: (name: string) => string
  selected: (count: number) => string
  selectAll: string
  selectRow: string
  clearSelection: string
  chooseFile: string
  dropFile: string
  notifications: string
  wrapLines: string
  total: string
  time: string
  chartData: string
  breadcrumbs: string
  step: (index: number, count: number) => string
  stepDone: string
  type: string
  name: string
  value: string
  priority: string
  unchanged: (count: number) => string
  added: string
  removed: string
  tooLongToCompare: string
}

export const ENGLISH_UI_TEXTS: UiTextValues = {
  locale: 'en',
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  loading: 'Loading',
  noResults: 'No results',
  searchFailed: 'The search failed. Change the text to try again.',
  previous: 'Previous',
  next: 'Next',
  back: 'Back',
  search: 'Search',
  clear: 'Clear',
  clearFilter: 'Clear filters',
  addFilter: 'Filter',
  apply: 'Apply',
  loadMore: 'Load more',
  showPassword: 'Show the password',
  hidePassword: 'Hide the password',
  optional: 'optional',
  cancel: 'Cancel',
  confirm: 'Confirm',
  retry: 'Try again',
  dismiss: 'Dismiss',
  requestId: 'Request',
  documentation: 'Documentation',
  typeToConfirm: (text) => `Type ${text} to confirm`,
  remove: (name) => `Remove ${name}`,
  selected: (count) => `${count} selected`,
  selectAll: 'Select all',
  selectRow: 'Select row',
  clearSelection: 'Clear selection',
  chooseFile: 'Choose a file',
  dropFile: 'or drop it here',
  notifications: 'Notifications',
  wrapLines: 'Wrap lines',
  total: 'Total',
  time: 'Time',
  chartData: 'Data of the chart',
  breadcrumbs: 'Breadcrumbs',
  step: (index, count) => `Step ${index} of ${count}`,
  stepDone: 'done',
  type: 'Type',
  name: 'Name',
  value: 'Value',
  priority: 'Priority',
  unchanged: (count) => (count === 1 ? '1 line without changes' : `${count} lines without changes`),
  added: 'added',
  removed: 'removed',
  tooLongToCompare: 'The texts are too long to compare line by line.',
}
