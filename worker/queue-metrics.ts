/**
 * Metrics of the queues for /metrics: queue depth by tier, age of the oldest recipient, suspensions, webhook backlog
 * and others. One of all workers reads them every ten seconds, and adds what processes counted before they died. No
 * query reads a whole large table: Redis has the counts of the schedule, the oldest recipient is the first entry of an
 * index, and webhooks are counted up to a limit.
 */
import type { Context } from '#src/context.ts'
import { countLiveFindings } from '#src/going-live/store.ts'
import { claimQueueReport, endSilentProcesses, publishQueueMetrics } from '#src/metrics/metric-exchange.ts'
import { countNotices, NOTICE_KIND_NAMES } from '#src/operator/notices.ts'
import { defaultPeriods } from '#src/retention/periods.ts'
import { readOverdue } from '#src/retention/overdue.ts'
import { single, type MetricSeries, type MetricSnapshot } from '#src/metrics/registry.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { readQueueDepth } from '#src/queue/queue-depth.ts'
import { listSuspensions, SUSPENDABLE } from '#src/queue/suspensions.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { countPending, type PendingCount } from '#src/suppression/pending-suppressions.ts'
import { sql } from '#src/stores/sql.ts'
import { createInstallationMetrics } from './installation-metrics.ts'
import type { Round } from './loop.ts'

const EVERY_MS = 10_000
/** The highest number that is counted. */
const MAX_COUNTED = 100_000

export function createQueueMetricsRound(ctx: Context): Round {
  const readInstallation = createInstallationMetrics(ctx)
  return async () => {
    if (!(await claimQueueReport(ctx.redis, EVERY_MS))) return false
    await endSilentProcesses(ctx)
    await publishQueueMetrics(ctx.redis, { ...(await readQueueMetrics(ctx)), ...(await readInstallation()) })
    return false
  }
}

/** One query after the other: together, each would hold a connection of its own. */
export async function readQueueMetrics({
  config,
  db,
  redis,
}: Pick<Context, 'config' | 'db' | 'redis'>): Promise<MetricSnapshot> {
  const depth = await readDepth(redis)
  const oldest = await readOldest(db)
  const suspensions = await listSuspensions(db)
  const webhooks = await readWebhooks(db)
  const reports = await readReports(db)
  const held = await countPending(db)
  const notices = await countNotices(db)
  const campaigns = await readCampaigns(db)
  const automations = await readAutomations(db)
  const findings = await countLiveFindings(db)
  const overdue = await readOverdue(db, defaultPeriods(config), db.clock.now())
  return {
    mailstead_queue_depth: depth,
    mailstead_queue_oldest_seconds: oldest,
    mailstead_suspensions: SUSPENDABLE.map((kind) => ({
      labels: [kind],
      value: suspensions.filter((one) => one.kind === kind).length,
    })),
    mailstead_webhook_backlog: single(webhooks.count),
    mailstead_webhook_oldest_seconds: single(webhooks.oldest),
    mailstead_campaigns: campaigns,
    mailstead_automation_steps_due: single(automations.count),
    mailstead_automation_oldest_seconds: single(automations.oldest),
    mailstead_inbound_waiting: single(reports),
    mailstead_notices: NOTICE_KIND_NAMES.map((kind) => ({ labels: [kind], value: notices.get(kind) ?? 0 })),
    mailstead_retention_overdue_seconds: overdue.map(({ period, lateMs }) => ({
      labels: [period],
      value: Math.round(lateMs / 1000),
    })),
    mailstead_doctor_findings: (['failed', 'warning'] as const).map((severity) => ({
      labels: [severity],
      value: findings.get(severity) ?? 0,
    })),
    mailstead_suppressions_pending: HOLDS.map((hold) => ({
      labels: [hold],
      value: sumOfHeld(held.filter((one) => one.hold === hold)),
    })),
  }
}

async function readDepth(redis: Context['redis']): Promise<MetricSeries[]> {
  const tiers = await readQueueDepth(redis)
  return tiers.flatMap(({ tier, ...counts }) =>
    Object.entries(counts).map(([state, value]) => ({ labels: [tier, state], value })),
  )
}

async function readOldest(db: Context['db']): Promise<MetricSeries[]> {
  const weeks = await readOpenWeeks(db)
  const { rows } = await db.query<{ tier: string; seconds: number }>(
    sql`
      SELECT t.tier, coalesce(greatest(0, extract(epoch FROM now() - o.due_at)), 0)::float AS seconds
      FROM unnest($1::text[]) AS t (tier)
      LEFT JOIN LATERAL (
        SELECT due_at
        FROM recipients
        WHERE is_open AND tier = t.tier AND ${weeks.contain('message_id')}
        ORDER BY due_at
        LIMIT 1
      ) o ON true`,
    [TIER_NAMES],
  )
  return rows.map(({ tier, seconds }) => ({ labels: [tier], value: seconds }))
}

async function readWebhooks(db: Context['db']): Promise<{ count: number; oldest: number }> {
  const {
    rows: [row],
  } = await db.query<{ count: number; oldest: number }>(
    sql`
      SELECT count(*) AS count, coalesce(greatest(0, extract(epoch FROM now() - min(due_at))), 0)::float AS oldest
      FROM (SELECT due_at FROM webhook_deliveries WHERE state = 'pending' LIMIT $1) w`,
    [MAX_COUNTED],
  )
  return row ?? { count: 0, oldest: 0 }
}

const OPEN_STATUSES = ['SCHEDULED', 'SENDING', 'PAUSED', 'SENT'] as const

async function readCampaigns(db: Context['db']): Promise<MetricSeries[]> {
  const { rows } = await db.query<{ status: string; value: number }>(
    sql`
      SELECT s.status, count(k.id)::int AS value
      FROM unnest($1::text[]) AS s (status)
      LEFT JOIN campaigns k ON k.status = s.status
      GROUP BY s.status`,
    [OPEN_STATUSES],
  )
  return rows.map(({ status, value }) => ({ labels: [status], value }))
}

async function readAutomations(db: Context['db']): Promise<{ count: number; oldest: number }> {
  const {
    rows: [row],
  } = await db.query<{ count: number; oldest: number }>(
    sql`
      SELECT count(*) AS count, coalesce(greatest(0, extract(epoch FROM now() - min(due_at))), 0)::float AS oldest
      FROM (
        SELECT e.due_at
        FROM automations a
        CROSS JOIN LATERAL (
          SELECT due_at
          FROM enrolments
          WHERE automation_id = a.id AND state = 'active' AND due_at <= now()
          ORDER BY due_at
          LIMIT $1
        ) e
        WHERE a.status = 'active'
        LIMIT $1
      ) d`,
    [MAX_COUNTED],
  )
  return row ?? { count: 0, oldest: 0 }
}

const HOLDS = ['proof', 'outage'] as const

function sumOfHeld(held: readonly PendingCount[]): number {
  return held.reduce((sum, { count }) => sum + count, 0)
}

async function readReports(db: Context['db']): Promise<number> {
  const {
    rows: [row],
  } = await db.query<{ count: number }>(
    'SELECT count(*) AS count FROM (SELECT FROM inbound_reports WHERE due_at IS NOT NULL LIMIT $1) r',
    [MAX_COUNTED],
  )
  return row?.count ?? 0
}
