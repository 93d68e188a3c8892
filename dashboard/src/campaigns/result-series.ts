/** Statistics of a campaign as series for a chart, and its funnel. A period without events is a zero, not a gap. */
import type { StatisticsCounts } from '#dashboard/src/api/endpoints.ts'
import type { Metrics } from './campaign-state.ts'

export type Interval = 'minute' | 'hour' | 'day'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const LENGTH_MS: Readonly<Record<Interval, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: 24 * HOUR_MS }
const MAX_MINUTES_MS = 3 * HOUR_MS
const MAX_HOURS_MS = 96 * HOUR_MS
const MAX_POINTS = 400

/** Short campaigns by the minute, the first days by the hour, then by the day. */
export function intervalOf(startedAt: number, now: number): Interval {
  const age = now - startedAt
  if (age <= MAX_MINUTES_MS) return 'minute'
  return age <= MAX_HOURS_MS ? 'hour' : 'day'
}

/** The start of the period that an instant is in, in UTC. */
export function floorTo(instant: number, interval: Interval): number {
  return Math.floor(instant / LENGTH_MS[interval]) * LENGTH_MS[interval]
}

export const COUNTERS = ['delivered', 'opened_unique', 'clicked_unique'] as const
type Counter = (typeof COUNTERS)[number]

export interface ResultSeries {
  readonly times: readonly string[]
  readonly values: Readonly<Record<Counter, readonly number[]>>
}

export interface CountedPeriod {
  readonly start: string
  readonly counts: StatisticsCounts
}

/** From the start of the campaign to its last event, with at least two points. */
export function completePeriods(rows: readonly CountedPeriod[], from: number, interval: Interval): ResultSeries {
  const byTime = new Map(rows.map(({ start, counts }) => [Date.parse(start), counts]))
  const last = Math.max(from, ...byTime.keys())
  const length = LENGTH_MS[interval]
  const count = Math.min(MAX_POINTS, Math.max(2, (last - from) / length + 1))
  const instants = Array.from({ length: count }, (_, index) => from + index * length)
  const valuesOf = (counter: Counter): number[] => instants.map((instant) => byTime.get(instant)?.[counter] ?? 0)
  return {
    times: instants.map((instant) => new Date(instant).toISOString()),
    values: {
      delivered: valuesOf('delivered'),
      opened_unique: valuesOf('opened_unique'),
      clicked_unique: valuesOf('clicked_unique'),
    },
  }
}

export type FunnelKey = 'dispatched' | 'delivered' | 'opened' | 'clicked' | 'unsubscribed' | 'bounced' | 'complained'

export interface FunnelStage {
  readonly key: FunnelKey
  readonly count: number
  /** Of the sent or of the delivered mail; null if there is none. */
  readonly share: number | null
  readonly of: 'sent' | 'delivered' | 'recipients'
}

const STAGES: readonly (readonly [FunnelKey, FunnelStage['of']])[] = [
  ['dispatched', 'recipients'],
  ['delivered', 'sent'],
  ['opened', 'delivered'],
  ['clicked', 'delivered'],
  ['unsubscribed', 'delivered'],
  ['bounced', 'sent'],
  ['complained', 'delivered'],
]

export function funnelOf(metrics: Metrics): readonly FunnelStage[] {
  const wholes = { recipients: metrics.recipients, sent: metrics.dispatched, delivered: metrics.delivered }
  return STAGES.map(([key, of]) => {
    const count = metrics[key]
    return { key, of, count, share: wholes[of] === 0 ? null : Math.min(1, count / wholes[of]) }
  })
}
