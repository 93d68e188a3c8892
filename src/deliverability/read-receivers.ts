/** The receivers of the desk: their traffic, the reasons of deferrals, their throttles and warm-up allowances. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { loadLearnedLimits } from '#src/shaping/learned-limits.ts'
import { listReceiverSuspensions, type ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import type { Shaping } from '#src/shaping/shaping-file.ts'
import { ANY_SOURCE, WILDCARD } from '#src/shaping/throttle-key.ts'
import { INSTALLATION } from '#src/statistics/dimensions.ts'
import { readReplies, type ReceiverReply } from '#src/statistics/receiver-replies.ts'
import type { Reason, ReceiverDesk, Throttle, Traffic, WarmUpAllowance } from './facts.ts'
import { volumeOf } from './receiver-problems.ts'
import { receiverNameOf, receiverOfThrottle } from './receiver-names.ts'
import { NO_TRAFFIC, seriesBy, splitPair, totalsBy, type TrafficReports } from './read-traffic.ts'

const DAY_MS = 24 * 3_600_000
/** Classes of one receiver that are shown. */
const MAX_REASONS = 8
const MAX_SOURCES = 20

export interface ReceiverQuery {
  /** A workspace, or INSTALLATION. */
  readonly scope: string
  readonly now: Date
  readonly shaping: Shaping
  readonly warmUp: readonly number[]
}

export async function readReceivers(
  db: Queryable,
  reports: TrafficReports,
  query: ReceiverQuery,
): Promise<ReceiverDesk[]> {
  const { scope, now, shaping, warmUp } = query
  const nameOf = (domain: string): string => receiverNameOf(shaping, domain).name
  const domains = [...new Set([reports.day, reports.week].flatMap(valuesOf))]
  const domainsBy = Map.groupBy(domains, nameOf)
  const throttles = await readThrottles(db, query)
  const warmUps = scope === INSTALLATION ? await readWarmUps(db, domains, { now, warmUp, nameOf }) : new Map()
  const replies = await readReplies(db, scope, domains, new Date(now.getTime() - DAY_MS))
  const [day, week, encrypted] = [reports.day, reports.week, reports.encrypted].map((one) => totalsBy(one, nameOf))
  const [hours, days] = [seriesBy(reports.day, nameOf), seriesBy(reports.week, nameOf)]
  const titles = new Map(shaping.receivers.map(({ name, title }) => [name, title]))
  const names = new Set([...domainsBy.keys(), ...throttles.keys()])
  return [...names]
    .map((name) => ({
      name,
      title: titles.get(name) ?? name,
      domains: domainsBy.get(name) ?? [],
      day: day?.get(name) ?? NO_TRAFFIC,
      week: week?.get(name) ?? NO_TRAFFIC,
      hours: hours.get(name) ?? [],
      days: days.get(name) ?? [],
      encrypted: encrypted?.get(name)?.sent ?? 0,
      reasons: reasonsOf(reports, domainsBy.get(name) ?? [], replies),
      throttles: throttles.get(name) ?? [],
      warmUps: (warmUps.get(name) ?? []) as readonly WarmUpAllowance[],
      sources: sourcesOf(reports, domainsBy.get(name) ?? []),
    }))
    .toSorted((a, b) => volumeOf(b.day) - volumeOf(a.day) || volumeOf(b.week) - volumeOf(a.week))
}

function valuesOf({ totals }: TrafficReports['day']): string[] {
  return totals.flatMap(({ value }) => (value === null ? [] : [value]))
}

/** Of pairs whose receiver is one of the domains, by the other half. */
function halvesOf(report: TrafficReports['day'], domains: readonly string[]): Map<string, Traffic> {
  return totalsBy(report, (value) => {
    const [receiver, other] = splitPair(value)
    return domains.includes(receiver) ? other : null
  })
}

function reasonsOf(reports: TrafficReports, domains: readonly string[], replies: readonly ReceiverReply[]): Reason[] {
  return [...halvesOf(reports.pairs.classes, domains)]
    .map(([name, { deferred, bounced_hard: hard, bounced_soft: soft }]) => {
      const last = replies.find((one) => one.class === name && domains.includes(one.receiver))
      const evidence = { reply: last?.reply ?? null, since: last?.since ?? null }
      return { class: name, deferred, bounced: hard + soft, ...evidence }
    })
    .filter(({ deferred, bounced }) => deferred + bounced > 0)
    .toSorted((a, b) => b.deferred + b.bounced - a.deferred - a.bounced)
    .slice(0, MAX_REASONS)
}

function sourcesOf({ pairs }: TrafficReports, domains: readonly string[]): ReceiverDesk['sources'] {
  if (pairs.sources === null) return []
  return [...halvesOf(pairs.sources, domains)]
    .map(([name, traffic]) => ({ name, traffic }))
    .toSorted((a, b) => volumeOf(b.traffic) - volumeOf(a.traffic))
    .slice(0, MAX_SOURCES)
}

/**
 * By receiver. A workspace sees what stops its own mail: suspensions of it and of everybody. A reply to the mail of all
 * may quote that of another workspace, so it is only shown with the suspensions of the workspace.
 */
async function readThrottles(db: Queryable, { scope, now, shaping }: ReceiverQuery): Promise<Map<string, Throttle[]>> {
  const isInstallation = scope === INSTALLATION
  const suspended = (await listReceiverSuspensions(db, now)).filter(
    ({ workspaceId }) => isInstallation || workspaceId === null || workspaceId === scope,
  )
  const learned = isInstallation ? await loadLearnedLimits(db) : []
  const rows = [
    ...suspended.map((one) => [one.pace, suspension(one, isInstallation || one.workspaceId === scope)] as const),
    ...learned.map(({ pace, source, connections, reducedAtMs }) => {
      const state = { state: 'slowed', rule: null, reply: null, until: null } as const
      const slowed = { ...state, source: sourceName(source), connections: Math.floor(connections) }
      return [pace, { ...slowed, since: new Date(reducedAtMs) }] as const
    }),
  ]
  const found = new Map<string, Throttle[]>()
  for (const [pace, throttle] of rows) {
    if (pace === WILDCARD) continue
    const name = receiverOfThrottle(shaping, pace)
    found.set(name, [...(found.get(name) ?? []), throttle])
  }
  return found
}

function suspension({ source, rule, reply, createdAt, until }: ReceiverSuspension, isOwn: boolean): Throttle {
  return {
    source: isOwn ? sourceName(source) : null,
    state: 'suspended',
    connections: null,
    rule: isOwn ? rule : null,
    reply: isOwn ? reply : null,
    since: createdAt,
    until,
  }
}

function sourceName(source: string): string | null {
  return source === ANY_SOURCE || source === WILDCARD ? null : source
}

const WARM_UPS = sql`
  SELECT s.name AS source, d.receiver, d.step, d.taken
  FROM egress_sources s
  JOIN egress_days d ON d.source_id = s.id
    AND d.receiver = ANY ($1::text[])
    AND d.day = ($2::timestamptz AT TIME ZONE 'UTC')::date
  WHERE s.warming_since IS NOT NULL
  ORDER BY s.name, d.receiver
  LIMIT 500
`

interface WarmUpQuery {
  readonly now: Date
  readonly warmUp: readonly number[]
  readonly nameOf: (domain: string) => string
}

/** The allowances of today that have an end, by receiver. */
async function readWarmUps(
  db: Queryable,
  domains: readonly string[],
  { now, warmUp, nameOf }: WarmUpQuery,
): Promise<Map<string, WarmUpAllowance[]>> {
  const { rows } = await db.query<{ source: string; receiver: string; step: number; taken: number }>(WARM_UPS, [
    domains,
    now,
  ])
  const found = rows.flatMap(({ source, receiver, step, taken }) => {
    const allowance = warmUp[step]
    return allowance === undefined ? [] : [{ name: nameOf(receiver), row: { source, day: step + 1, allowance, taken } }]
  })
  const byName = Map.groupBy(found, ({ name }) => name)
  return new Map([...byName].map(([name, ofName]) => [name, ofName.map(({ row }) => row)]))
}
