/**
 * Adds up groups of events: pure. Each group becomes counters of its workspace and of the installation, by minute and
 * by each dimension that it has. The names in a group come from customers' messages; they are data, never keys of
 * objects.
 */
import { receiverOf } from '#src/suppression/receiver.ts'
import {
  type CounterName,
  type Counts,
  type DimensionName,
  DIMENSIONS,
  DIMENSION_NAMES,
  INSTALLATION,
  NO_VALUE,
  type ResolutionName,
  RESOLUTIONS,
  SPARE_MS,
} from './dimensions.ts'
import { linkName } from './link-name.ts'

/** Events that differ in nothing that is counted. */
export interface EventGroup {
  readonly workspaceId: string
  /** The start of the minute. */
  readonly at: Date
  readonly type: string
  /** Of a bounce: hard. */
  readonly isHard: boolean
  /** Of an open or a click. */
  readonly isMachine: boolean
  readonly isFirst: boolean
  /** Of a failure: its address is suppressed. */
  readonly isSuppressed: boolean
  /** Of a bounce or deferral. */
  readonly class: string | null
  /** Null if the message is no longer stored. */
  readonly tier: string | null
  /** The domain of the From address. */
  readonly domain: string | null
  readonly tags: readonly string[] | null
  readonly campaign: string | null
  readonly template: string | null
  /** An attempt was made before the event. */
  readonly isAttempted: boolean
  readonly host: string | null
  readonly source: string | null
  /** The last attempt was encrypted. */
  readonly isEncrypted: boolean
  /** What the receiver replied to one of them. */
  readonly reply: string | null
  /** The domain of the recipient. */
  readonly recipientDomain: string | null
  readonly count: number
}

/** Counters to add: one row of the table `statistics`. */
export interface StatisticsRow {
  readonly workspaceId: string
  readonly dimension: DimensionName
  /** The start of the period. */
  readonly at: Date
  readonly resolution: ResolutionName
  readonly value: string
  readonly counts: Counts
}

const SIMPLE: Readonly<Record<string, CounterName>> = {
  'email.queued': 'accepted',
  'email.scheduled': 'accepted',
  'email.sent': 'sent',
  'email.delivered': 'delivered',
  'email.deferred': 'deferred',
  'email.complained': 'complained',
  'email.unsubscribed': 'unsubscribed',
  'email.cancelled': 'cancelled',
}
const BY_DETAIL: Readonly<Record<string, (group: EventGroup) => readonly CounterName[]>> = {
  'email.bounced': ({ isHard }) => [isHard ? 'bounced_hard' : 'bounced_soft'],
  'email.failed': ({ isSuppressed }) => [isSuppressed ? 'suppressed' : 'failed'],
  'email.opened': ({ isMachine, isFirst }) =>
    isMachine ? ['opened_machine'] : isFirst ? ['opened', 'opened_unique'] : ['opened'],
  'email.clicked': ({ isMachine, isFirst }) =>
    isMachine ? ['clicked_machine'] : isFirst ? ['clicked', 'clicked_unique'] : ['clicked'],
}

/** The types of events that are counted. */
export const COUNTED_TYPES = [...Object.keys(SIMPLE), ...Object.keys(BY_DETAIL)]

export function countersOf(group: EventGroup): readonly CounterName[] {
  if (!Object.hasOwn(SIMPLE, group.type)) return Object.hasOwn(BY_DETAIL, group.type) ? detailOf(group) : []
  const simple = SIMPLE[group.type]
  return simple === undefined ? [] : [simple]
}

function detailOf(group: EventGroup): readonly CounterName[] {
  return BY_DETAIL[group.type]?.(group) ?? []
}

const VALUES: Readonly<Record<DimensionName, (group: EventGroup) => readonly (string | null)[]>> = {
  all: () => [NO_VALUE],
  tier: ({ tier }) => [tier],
  receiver: (group) => [receiverIn(group)],
  domain: ({ domain }) => [domain],
  source: ({ source }) => [source],
  class: ({ class: name }) => [name],
  receiver_source: (group) => [pairOf(receiverIn(group), group.source)],
  receiver_class: (group) => [pairOf(receiverIn(group), group.class)],
  encrypted: (group) => [group.isEncrypted ? receiverIn(group) : null],
  tag: ({ tags }) => tags ?? [],
  campaign: ({ campaign }) => [campaign],
  template: ({ template }) => [template],
  workspace: ({ workspaceId }) => [workspaceId],
}

function receiverIn({ isAttempted, host, recipientDomain }: EventGroup): string | null {
  return isAttempted && recipientDomain !== null ? receiverOf(host, recipientDomain) : null
}

/** Neither a receiver nor a name of ours has a space. */
function pairOf(receiver: string | null, other: string | null): string | null {
  return receiver === null || other === null ? null : `${receiver} ${other}`
}

const SEPARATOR = '\n'

/** Rows of minutes. */
export function tally(groups: readonly EventGroup[]): StatisticsRow[] {
  const rows = new Map<string, StatisticsRow>()
  const add = (row: Omit<StatisticsRow, 'counts'>, key: string, group: EventGroup): void => {
    let found = rows.get(key)
    if (found === undefined) {
      found = { ...row, counts: {} }
      rows.set(key, found)
    }
    for (const name of countersOf(group)) found.counts[name] = (found.counts[name] ?? 0) + group.count
  }
  const addTo = (dimension: DimensionName, group: EventGroup, time: string): void => {
    const { workspaceId, at } = group
    const { isOfWorkspace, isOfInstallation } = DIMENSIONS[dimension]
    for (const value of VALUES[dimension](group)) {
      if (value === null || (value === NO_VALUE && dimension !== 'all')) continue
      const rest = `${SEPARATOR}${dimension}${SEPARATOR}${time}${SEPARATOR}${value}`
      const row = { dimension, at, resolution: 'minute', value } as const
      if (isOfWorkspace) add({ ...row, workspaceId }, workspaceId + rest, group)
      if (isOfInstallation) add({ ...row, workspaceId: INSTALLATION }, INSTALLATION + rest, group)
    }
  }
  for (const group of groups) {
    const time = group.at.toISOString()
    for (const dimension of DIMENSION_NAMES) addTo(dimension, group, time)
  }
  return [...rows.values()]
}

/**
 * Rows of minutes, and what they add to other resolutions: minutes from `rolledMs` on are rolled up later; earlier ones
 * are in every resolution that is stored for their time (src/statistics/roll-up.ts).
 */
export function withCoarser(minutes: readonly StatisticsRow[], rolledMs: number, nowMs: number): StatisticsRow[] {
  const rows: StatisticsRow[] = minutes.filter(({ at }) => at.getTime() >= rolledMs)
  const late = minutes.filter(({ at }) => at.getTime() < rolledMs)
  for (const [resolution, { ms, keptMs }] of Object.entries(RESOLUTIONS) as [ResolutionName, ResolutionRow][]) {
    const merged = new Map<string, StatisticsRow>()
    for (const row of late) {
      const at = Math.floor(row.at.getTime() / ms) * ms
      if (at < nowMs - keptMs - SPARE_MS - ms) continue
      const key = [row.workspaceId, row.dimension, at, row.value].join(SEPARATOR)
      const found = merged.get(key) ?? { ...row, at: new Date(at), resolution, counts: {} }
      merged.set(key, found)
      addCounts(found.counts, row.counts)
    }
    rows.push(...merged.values())
  }
  return rows
}

function addCounts(to: Counts, from: Counts): void {
  for (const [name, count] of Object.entries(from) as [CounterName, number][]) to[name] = (to[name] ?? 0) + count
}

type ResolutionRow = (typeof RESOLUTIONS)[ResolutionName]

/** Clicks on one URL that differ in nothing that is counted. */
export interface ClickGroup {
  readonly workspaceId: string
  /** YYYY-MM-DD, UTC. */
  readonly day: string
  /** `campaign:ID`, `template:ID` or empty. */
  readonly content: string
  readonly url: string
  readonly isMachine: boolean
  /** The recipient's first click on this URL. */
  readonly isFirst: boolean
  readonly count: number
}

export interface LinkRow {
  readonly workspaceId: string
  readonly content: string
  readonly day: string
  readonly url: string
  clicked: number
  clickedUnique: number
  clickedMachine: number
}

export function tallyClicks(groups: readonly ClickGroup[]): LinkRow[] {
  const rows = new Map<string, LinkRow>()
  for (const { workspaceId, day, content, url, isMachine, isFirst, count } of groups) {
    const name = linkName(url) ?? NO_VALUE
    const key = [workspaceId, content, day, name].join(SEPARATOR)
    let row = rows.get(key)
    if (row === undefined) {
      row = { workspaceId, content, day, url: name, clicked: 0, clickedUnique: 0, clickedMachine: 0 }
      rows.set(key, row)
    }
    if (isMachine) row.clickedMachine += count
    else {
      row.clicked += count
      if (isFirst) row.clickedUnique += count
    }
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
