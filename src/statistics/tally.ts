/**
 * Adds up groups of recipients: pure. Each group becomes counters of its workspace and of the installation, by minute
 * and by each dimension that it has. The names in a group come from customers' messages; they are data, never keys of
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
  RESOLUTION_NAMES,
  type ResolutionName,
  RESOLUTIONS,
  SPARE_MS,
  type StoredDimension,
  totalOf,
} from './dimensions.ts'
import { countersOf, type EventKind, hasClass, isAfterAttempt } from './event-kind.ts'
import { linkName } from './link-name.ts'
import { periodOf } from './periods.ts'

/** Recipients that differ in nothing that is counted. */
export interface EventGroup {
  readonly workspaceId: string
  /** The events of each of them. */
  readonly events: readonly EventKind[]
  /** Of those events that have one. */
  readonly class: string | null
  /** Null if the message is no longer stored. */
  readonly tier: string | null
  /** The domain of the From address. */
  readonly domain: string | null
  readonly tags: readonly string[] | null
  readonly campaign: string | null
  readonly template: string | null
  /** An attempt was made before the events that follow one. */
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
  readonly dimension: StoredDimension
  /** The start of the period. */
  readonly at: Date
  readonly resolution: ResolutionName
  readonly value: string
  readonly counts: Counts
}

/** Sums of all values are of coarser rows. */
export interface MinuteRow extends StatisticsRow {
  readonly dimension: DimensionName
}

/** The events of a group that a dimension counts. */
const STAGES = {
  every: () => true,
  tried: isAfterAttempt,
  classed: hasClass,
} as const satisfies Record<string, (kind: EventKind) => boolean>
type Stage = keyof typeof STAGES

interface DimensionValues {
  readonly stage: Stage
  readonly of: (group: EventGroup, receiver: string | null) => readonly (string | null)[]
}

const VALUES: Readonly<Record<DimensionName, DimensionValues>> = {
  all: { stage: 'every', of: () => [NO_VALUE] },
  tier: { stage: 'every', of: ({ tier }) => [tier] },
  receiver: { stage: 'tried', of: (_, receiver) => [receiver] },
  domain: { stage: 'every', of: ({ domain }) => [domain] },
  source: { stage: 'tried', of: ({ source }) => [source] },
  class: { stage: 'classed', of: ({ class: name }) => [name] },
  receiver_source: { stage: 'tried', of: ({ source }, receiver) => [pairOf(receiver, source)] },
  receiver_class: { stage: 'classed', of: ({ class: name }, receiver) => [pairOf(receiver, name)] },
  encrypted: { stage: 'tried', of: ({ isEncrypted }, receiver) => [isEncrypted ? receiver : null] },
  tag: { stage: 'every', of: ({ tags }) => tags ?? [] },
  campaign: { stage: 'every', of: ({ campaign }) => [campaign] },
  template: { stage: 'every', of: ({ template }) => [template] },
  workspace: { stage: 'every', of: ({ workspaceId }) => [workspaceId] },
}

/** Neither a receiver nor a name of ours has a space. */
function pairOf(receiver: string | null, other: string | null): string | null {
  return receiver === null || other === null ? null : `${receiver} ${other}`
}

const SEPARATOR = '\n'

/** The counters that the events of a group have in one minute; a counter is there for each event. */
interface CountedMinute {
  readonly at: Date
  readonly counters: readonly CounterName[]
}

type CountedMinutes = Readonly<Record<Stage, readonly CountedMinute[]>>

/** Rows of minutes. */
export function tally(groups: readonly EventGroup[]): MinuteRow[] {
  const rows: Rows<MinuteRow> = new Map()
  const minutesOf = createCache(countMinutes)
  const receiverOfHost = createCache((host: string) => receiverOf(host, ''))
  const receiverIn = ({ isAttempted, host, recipientDomain }: EventGroup): string | null => {
    if (!isAttempted) return null
    return host === null ? recipientDomain : receiverOfHost(host)
  }
  for (const group of groups) {
    const minutes = minutesOf(group.events)
    const receiver = receiverIn(group)
    for (const dimension of DIMENSION_NAMES) {
      const { stage, of } = VALUES[dimension]
      for (const value of of(group, receiver)) addValue(rows, { group, dimension, value }, minutes[stage])
    }
  }
  return [...rows.values()]
}

type Rows<Row> = Map<string, Row>

function keyOf({ workspaceId, dimension, at, value }: Omit<StatisticsRow, 'counts'>): string {
  return `${workspaceId}${SEPARATOR}${dimension}${SEPARATOR}${at.getTime()}${SEPARATOR}${value}`
}

interface GroupValue {
  readonly group: EventGroup
  readonly dimension: DimensionName
  readonly value: string | null
}

function addValue(
  rows: Rows<MinuteRow>,
  { group, dimension, value }: GroupValue,
  minutes: readonly CountedMinute[],
): void {
  if (value === null || (value === NO_VALUE && dimension !== 'all')) return
  const { workspaceId, count } = group
  const { isOfWorkspace, isOfInstallation } = DIMENSIONS[dimension]
  for (const { at, counters } of minutes) {
    const row = { dimension, at, resolution: 'minute', value } as const
    if (isOfWorkspace) addTo(rows, { ...row, workspaceId }, counters, count)
    if (isOfInstallation) addTo(rows, { ...row, workspaceId: INSTALLATION }, counters, count)
  }
}

type MinuteKey = Omit<MinuteRow, 'counts'>

function addTo(rows: Rows<MinuteRow>, row: MinuteKey, counters: readonly CounterName[], count: number): void {
  const key = keyOf(row)
  let found = rows.get(key)
  if (found === undefined) {
    found = { ...row, counts: {} }
    rows.set(key, found)
  }
  for (const name of counters) found.counts[name] = (found.counts[name] ?? 0) + count
}

function createCache<K, V>(compute: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>()
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key))
    return known.get(key) as V
  }
}

function countMinutes(events: readonly EventKind[]): CountedMinutes {
  const minutesOf = (isIncluded: (event: EventKind) => boolean): CountedMinute[] => {
    const minutes = Map.groupBy(events.filter(isIncluded), ({ at }) => at.getTime())
    return [...minutes].map(([ms, some]) => ({ at: new Date(ms), counters: some.flatMap(countersOf) }))
  }
  return { every: minutesOf(STAGES.every), tried: minutesOf(STAGES.tried), classed: minutesOf(STAGES.classed) }
}

/**
 * Rows of minutes, and what they add to other resolutions: minutes from `rolledMs` on are rolled up later; earlier ones
 * are in every resolution that is stored for their time, and in its sums of all values (src/statistics/roll-up.ts).
 */
export function withCoarser(minutes: readonly MinuteRow[], rolledMs: number, nowMs: number): StatisticsRow[] {
  const rows: StatisticsRow[] = minutes.filter(({ at }) => at.getTime() >= rolledMs)
  const late = minutes.filter(({ at }) => at.getTime() < rolledMs)
  for (const resolution of RESOLUTION_NAMES) {
    const { ms, keptMs } = RESOLUTIONS[resolution]
    const merged: Rows<StatisticsRow> = new Map()
    for (const row of late) {
      const at = periodOf(resolution, row.at.getTime())
      if (at < nowMs - keptMs - SPARE_MS - ms) continue
      const period = { ...row, at: new Date(at), resolution }
      addRow(merged, period)
      const total = totalOf(row.dimension)
      if (resolution !== 'minute' && total !== row.dimension)
        addRow(merged, { ...period, dimension: total, value: NO_VALUE })
    }
    rows.push(...merged.values())
  }
  return rows
}

function addRow(rows: Rows<StatisticsRow>, row: StatisticsRow): void {
  const key = keyOf(row)
  const found = rows.get(key) ?? { ...row, counts: {} }
  rows.set(key, found)
  addCounts(found.counts, row.counts)
}

function addCounts(to: Counts, from: Counts): void {
  for (const [name, count] of Object.entries(from) as [CounterName, number][]) to[name] = (to[name] ?? 0) + count
}

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
