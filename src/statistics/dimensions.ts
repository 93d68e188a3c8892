/**
 * What statistics count, and by what. A row of the table `statistics` has the counters of one value of one dimension in
 * one period; there is no product of dimensions, so a year of a busy workspace is some ten thousand rows. To add a
 * counter: a migration with its column, a row here, and its case in `tally.ts`.
 */

/** The counters, each with its meaning. Every event of mail counts in at most two of them. */
export const COUNTERS = {
  accepted: 'recipients of accepted messages, also of those that wait for their time',
  sent: 'recipients whose message was handed to the receiver or provider',
  delivered: 'recipients whose receiver accepted the message',
  deferred: 'attempts that failed for now; a recipient may have several',
  bounced_hard: 'recipients that do not exist, as the receiver says',
  bounced_soft: 'recipients whose receiver refused the message for another reason',
  failed: 'recipients that could not be sent to, or whose retries or time ran out',
  suppressed: 'recipients on the suppression list; nothing was sent',
  cancelled: 'recipients that were cancelled before they were sent to',
  complained: 'recipients that reported the message as spam',
  unsubscribed: 'recipients that used the unsubscribe link or header of the message',
  opened: 'opens by people, each one',
  opened_unique: 'recipients that opened; the first open of each',
  opened_machine: 'opens by machines, such as the privacy proxies of mail providers',
  clicked: 'clicks by people, each one',
  clicked_unique: 'recipients that clicked; the first click of each',
  clicked_machine: 'clicks by machines, such as security scanners',
} as const satisfies Record<string, string>

export type CounterName = keyof typeof COUNTERS
export const COUNTER_NAMES = Object.keys(COUNTERS) as CounterName[]

/** Counts of some events; a counter that is absent is zero. */
export type Counts = { [Name in CounterName]?: number }

interface DimensionRow {
  readonly meaning: string
  /** Counted for each workspace. */
  readonly isOfWorkspace: boolean
  /** Counted for the whole installation. */
  readonly isOfInstallation: boolean
}

export const DIMENSIONS = {
  all: { meaning: 'everything', isOfWorkspace: true, isOfInstallation: true },
  tier: { meaning: 'the tier of the message', isOfWorkspace: true, isOfInstallation: true },
  receiver: {
    meaning: 'the domain of the MX host, such as google.com for all that Google hosts; from the first attempt on',
    isOfWorkspace: true,
    isOfInstallation: true,
  },
  domain: { meaning: 'the domain of the From address', isOfWorkspace: true, isOfInstallation: true },
  source: {
    meaning: 'the local address the mail left from; once it was used',
    isOfWorkspace: true,
    isOfInstallation: true,
  },
  class: {
    meaning: 'the class of a bounce or deferral, such as no-such-user',
    isOfWorkspace: true,
    isOfInstallation: true,
  },
  receiver_source: {
    meaning: 'the receiver and the source, with a space between them',
    isOfWorkspace: false,
    isOfInstallation: true,
  },
  receiver_class: {
    meaning: 'the receiver and the class of a bounce or deferral, with a space between them',
    isOfWorkspace: true,
    isOfInstallation: true,
  },
  encrypted: {
    meaning: 'the receiver, only of mail that was sent over TLS',
    isOfWorkspace: true,
    isOfInstallation: true,
  },
  tag: { meaning: 'each tag of the message', isOfWorkspace: true, isOfInstallation: false },
  campaign: { meaning: 'the campaign of the message', isOfWorkspace: true, isOfInstallation: false },
  template: { meaning: 'the template of the message', isOfWorkspace: true, isOfInstallation: false },
  workspace: { meaning: 'the workspace of the message', isOfWorkspace: false, isOfInstallation: true },
} as const satisfies Record<string, DimensionRow>

export type DimensionName = keyof typeof DIMENSIONS
export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as DimensionName[]
export const WORKSPACE_DIMENSIONS = DIMENSION_NAMES.filter((name) => DIMENSIONS[name].isOfWorkspace)
export const INSTALLATION_DIMENSIONS = DIMENSION_NAMES.filter((name) => DIMENSIONS[name].isOfInstallation)

/** The `workspace_id` of the rows about the whole installation. */
export const INSTALLATION = '00000000-0000-0000-0000-000000000000'
/** The value of `all`, and of what is beyond the limit of values. No event has an empty value. */
export const NO_VALUE = ''

/** The dimension of the sums of all values of another one, from hours on; their value is empty. */
export type TotalName = `${DimensionName}/total`
/** What the column `dimension` has. */
export type StoredDimension = DimensionName | TotalName

/** Where the sums of all values of a dimension are. */
export function totalOf(dimension: DimensionName): StoredDimension {
  return dimension === 'all' ? 'all' : `${dimension}/total`
}

/**
 * How fine the periods of stored rows are, how long a period is at most (periods.ts), how long rows are stored, and how
 * many values of a dimension a period of a workspace has; further ones count as `NO_VALUE`. A report that begins when a
 * period may just be deleted finds it: rows are deleted `SPARE_MS` later.
 */
export const RESOLUTIONS = {
  minute: { code: 0, ms: 60_000, keptMs: 24 * 3_600_000, values: 100 },
  hour: { code: 1, ms: 3_600_000, keptMs: 31 * 24 * 3_600_000, values: 50 },
  day: { code: 2, ms: 24 * 3_600_000, keptMs: Infinity, values: 100 },
  week: { code: 3, ms: 7 * 24 * 3_600_000, keptMs: Infinity, values: 400 },
  month: { code: 4, ms: 31 * 24 * 3_600_000, keptMs: Infinity, values: 1000 },
} as const
/** Pairs have this many times the values. */
export const PAIR_FACTOR = 4
export const PAIRS: readonly DimensionName[] = ['receiver_source', 'receiver_class']
/** Old rows are deleted by whole days of UTC, and minutes by hours. */
export const SPARE_MS = 3_600_000
export type ResolutionName = keyof typeof RESOLUTIONS
export const RESOLUTION_NAMES = Object.keys(RESOLUTIONS) as ResolutionName[]
