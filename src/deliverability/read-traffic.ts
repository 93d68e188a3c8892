/**
 * The mail of a day and a week, from the statistics: by receiver, by receiver and source, by receiver and class, and by
 * sender. It reads counters only, so the time does not depend on the number of messages. The domains of one receiver of
 * the shaping file are one row.
 */
import type { Db } from '#src/stores/db.ts'
import { INSTALLATION, type DimensionName } from '#src/statistics/dimensions.ts'
import { divide, type Division, type IntervalName } from '#src/statistics/intervals.ts'
import { readReport, type Report } from '#src/statistics/report.ts'
import { TRAFFIC_COUNTERS, type Traffic, type TrafficAt } from './facts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const HOURS = 24
const DAYS = 7
const MAX_RECEIVERS = 40
const MAX_PAIRS = 200
const MAX_SENDERS = 50

export interface TrafficReports {
  readonly day: Report
  readonly week: Report
  readonly pairs: { readonly sources: Report | null; readonly classes: Report }
  readonly encrypted: Report
  readonly senders: Report
}

export type TrafficDb = Pick<Db, 'snapshot' | 'clock'>

/** `scope`: a workspace, or INSTALLATION. */
export async function readTraffic(db: TrafficDb, scope: string): Promise<TrafficReports> {
  const now = db.clock.now()
  const [hours, days] = [
    periodOf('hour', now - (HOURS - 1) * HOUR_MS, now),
    periodOf('day', now - (DAYS - 1) * DAY_MS, now),
  ]
  const isInstallation = scope === INSTALLATION
  const read = (dimension: DimensionName, { interval, division }: Period, limit: number): Promise<Report> =>
    readReport(db, { scope, dimension, value: null, interval, division, counters: TRAFFIC_COUNTERS, limit })
  const together = { ...hours, division: { starts: hours.division.starts.slice(0, 1), end: hours.division.end } }
  const [day, week, sources, classes, encrypted, senders] = await Promise.all([
    read('receiver', hours, MAX_RECEIVERS),
    read('receiver', days, MAX_RECEIVERS),
    isInstallation ? read('receiver_source', together, MAX_PAIRS) : null,
    read('receiver_class', together, MAX_PAIRS),
    read('encrypted', together, MAX_RECEIVERS),
    read(isInstallation ? 'workspace' : 'domain', days, MAX_SENDERS),
  ])
  return { day, week, pairs: { sources, classes }, encrypted, senders }
}

interface Period {
  readonly interval: IntervalName
  readonly division: Division
}

function periodOf(interval: 'hour' | 'day', fromMs: number, toMs: number): Period {
  const end = new Date(toMs)
  return { interval, division: divide(new Date(fromMs), end, interval, 'UTC') ?? { starts: [], end } }
}

export const NO_TRAFFIC: Traffic = {
  sent: 0,
  delivered: 0,
  deferred: 0,
  bounced_hard: 0,
  bounced_soft: 0,
  failed: 0,
  complained: 0,
}

function addTraffic(one: Traffic, other: Partial<Traffic>): Traffic {
  const sum = (name: keyof Traffic): number => one[name] + (other[name] ?? 0)
  return Object.fromEntries(TRAFFIC_COUNTERS.map((name) => [name, sum(name)])) as Record<keyof Traffic, number>
}

/** Totals by the name that `nameOf` gives to a value; values without a name are left out. */
export function totalsBy(report: Report, nameOf: (value: string) => string | null): Map<string, Traffic> {
  const totals = new Map<string, Traffic>()
  for (const { value, counts } of report.totals) {
    const name = value === null ? null : nameOf(value)
    if (name !== null) totals.set(name, addTraffic(totals.get(name) ?? NO_TRAFFIC, counts))
  }
  return totals
}

/** The same by interval, in order of time. */
export function seriesBy(report: Report, nameOf: (value: string) => string): Map<string, readonly TrafficAt[]> {
  const series = new Map<string, Map<number, Traffic>>()
  for (const { at, value, counts } of report.rows) {
    if (value === null) continue
    const name = nameOf(value)
    const ofName = series.get(name) ?? new Map<number, Traffic>()
    series.set(name, ofName)
    ofName.set(at.getTime(), addTraffic(ofName.get(at.getTime()) ?? NO_TRAFFIC, counts))
  }
  return new Map(
    [...series].map(([name, ofName]) => [
      name,
      [...ofName].toSorted(([a], [b]) => a - b).map(([ms, traffic]) => ({ at: new Date(ms), traffic })),
    ]),
  )
}

/** The two halves of a value such as `google.com policy`. */
export function splitPair(value: string): readonly [receiver: string, other: string] {
  const [receiver = '', ...rest] = value.split(' ')
  return [receiver, rest.join(' ')]
}
