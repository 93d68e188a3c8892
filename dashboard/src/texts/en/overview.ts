/** The overview of a workspace. */
const openObject: Readonly<Record<string, string>> = {
  domain: 'Open the domain',
  account: 'Open the account',
  webhook: 'Open the webhook',
  campaign: 'Open the campaign',
  key: 'Open the key',
}
const domainTodo = 'Publish the records that its page shows, then check them.'
const campaignWaits = 'It continues by itself when the operator has solved what the reason says.'

export const overview = {
  title: 'Overview',
  description: (zone: string) => `What happens to your mail. Times in ${zone.replaceAll('_', ' ')}.`,
  period: 'Period',
  shortPeriods: { '24h': '24 h', '7d': '7 d', '30d': '30 d', '90d': '90 d', '12m': '12 mo' },
  csv: 'CSV',
  notLoaded: 'The statistics could not be loaded',
  notComplete: 'Mail of before the last upgrade is still being counted. The figures grow until that is done.',
  figures: {
    sent: { label: 'Sent', hint: 'handed to the receiver', share: (share: string) => share },
    delivered: { label: 'Delivered', hint: 'accepted by the receiver', share: (share: string) => `${share} of sent` },
    deferred: { label: 'Deferred', hint: 'attempts that failed for now', share: (share: string) => share },
    bounced: { label: 'Bounced', hint: 'refused for good', share: (share: string) => `${share} of sent` },
    complained: {
      label: 'Complained',
      hint: 'reported as spam',
      share: (share: string) => `${share} of delivered`,
    },
    opened: { label: 'Opened', hint: 'by people, first opens', share: (share: string) => `${share} of delivered` },
    clicked: { label: 'Clicked', hint: 'by people, first clicks', share: (share: string) => `${share} of delivered` },
    unsubscribed: {
      label: 'Unsubscribed',
      hint: 'by link or header',
      share: (share: string) => `${share} of delivered`,
    },
  },
  chart: 'Chart',
  charts: {
    delivery: {
      label: 'Delivery',
      title: 'What became of the mail',
      text: 'A recipient whose delivery is retried counts as deferred at each attempt.',
    },
    readers: {
      label: 'Readers',
      title: 'What readers did',
      text: 'Opens and clicks by people; machines such as privacy proxies are left out.',
    },
  },
  noMail: 'No mail in this period',
  noMailText: 'Choose a longer period, or send a first message.',
  toStart: 'Send a test mail',
  queue: 'Waiting now',
  queueText: 'Recipients in the queue, by tier.',
  queueNotLoaded: 'The queue could not be counted',
  nothingWaits: 'nothing waits',
  oldestDue: 'oldest due',
  tiers: { instant: 'Instant', high: 'High', normal: 'Normal', bulk: 'Bulk' },
  groups: {
    tier: { title: 'By tier', heading: 'Tier', empty: 'No mail in this period.' },
    receiver: { title: 'By receiver', heading: 'Receiver', empty: 'No mail in this period.' },
    domain: { title: 'By sending domain', heading: 'Domain', empty: 'No mail in this period.' },
    tag: {
      title: 'By tag',
      heading: 'Tag',
      empty: 'No mail with tags. Add tags to a message to see what each kind of mail does.',
    },
  },
  sentAndDelivered: 'Sent · delivered',
  others: 'Others',
  attention: 'Needs attention',
  attentionNotLoaded: 'What needs attention could not be loaded',
  severities: { error: 'Problem', warning: 'Warning' },
  showAll: (count: number) => `Show all ${count}`,
  look: 'Have a look',
  openObject,
  attentionKinds: {
    'domain-pending': { title: 'not verified yet', todo: domainTodo },
    'domain-degraded': { title: 'its DKIM record is gone, and it may send for 24 hours at most', todo: domainTodo },
    'domain-failed': {
      title: 'may not send, because its DKIM record was not found',
      todo: `${domainTodo} Or delete the domain.`,
    },
    'account-paused': { title: 'paused, and its mail waits', todo: 'Correct its credentials, then resume it.' },
    'webhook-disabled': {
      title: 'switched off, and gets no events',
      todo: 'Repair the endpoint, switch it on, and replay what it missed.',
    },
    'campaign-paused': { title: 'paused', todo: 'Solve what the reason says, then resume it.' },
    'campaign-failed': { title: 'failed', todo: 'Solve what the reason says, then create it again.' },
    'campaign-sending': { title: 'held back', todo: campaignWaits },
    'campaign-sent': { title: 'the rest is held back', todo: campaignWaits },
    'campaign-scheduled': { title: 'cannot start', todo: 'Solve what the reason says before its time.' },
    'key-expires': {
      title: 'the key expires within two weeks',
      todo: 'Create another key, and use it before this one expires.',
    },
    'workspace-suspended': {
      title: 'The mail of the workspace is suspended, and waits',
      todo: 'Solve what the reason says, then ask the operator of this service to resume it.',
    },
    'bounce-rate': {
      title: 'Many addresses do not exist: at the limit, all mail of the workspace is suspended',
      todo: 'Send only to addresses that were confirmed, and remove those that bounced.',
    },
    'complaint-rate': {
      title: 'Many recipients report the mail as spam: at the limit, all mail of the workspace is suspended',
      todo: 'Send only to people who asked for it, and make it easy to unsubscribe.',
    },
    'quota-near': {
      title: 'The monthly quota is nearly used',
      todo: 'Ask the operator of this service for another plan, or wait until the next month.',
    },
    'quota-used': {
      title: 'The monthly quota is used up',
      todo: 'Ask the operator of this service for another plan, or wait until the next month.',
    },
  },
}
