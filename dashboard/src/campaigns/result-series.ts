/** Statistics of a campaign as series for a chart, and its funnel. A period without events is a zero, not a gap. */
import type { StatisticsCounts } from '#dashboard/src/api/endpoints.ts'
import { shift, type Interval } from '#dashboard/src/shared/period.ts'
import type { Metrics } from './campaign-state.ts'

const HOUR_MS = 3_600_000
const MAX_MINUTES_MS = 3 * HOUR_MS
const MAX_HOURS_MS = 96 * HOUR_MS
const MAX_POINTS = 400

/** Short campaigns by the minute, the first days by the hour, then by the day. */
export function intervalOf(startedAt: number, now: number): Interval {
  const age = now - startedAt
  if (age <= MAX_MINUTES_MS) return 'minute'
  return age <= MAX_HOURS_MS ? 'hour' : 'day'
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

/** From the period in which the campaign started to that of its last event, with at least two points. */
export function completePeriods(rows: readonly CountedPeriod[], from: Date, interval: Interval): ResultSeries {
  const byTime = new Map(rows.map(({ start, counts }) => [Date.parse(start), counts]))
  const last = Math.max(...byTime.keys())
  const instants = [from, shift(from, interval, 1)]
  for (let next = shift(from, interval, 2); next.getTime() <= last && instants.length < MAX_POINTS;) {
    instants.push(next)
    next = shift(from, interval, instants.length)
  }
  const valuesOf = (counter: Counter): number[] =>
    instants.map((instant) => byTime.get(instant.getTime())?.[counter] ?? 0)
  return {
    times: instants.map((instant) => instant.toISOString()),
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
