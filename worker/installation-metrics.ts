/**
 * Metrics of the whole installation that change slowly: sources, certificates, domains, connected accounts and
 * nodes. One worker reads them once a minute, with the metrics of the queues. The tables are small,
 * or counted by one statement. Certificates are read over the network every ten minutes, apart from the others: a host
 * that does not answer delays nothing, and its last known time remains. If PostgreSQL fails, the last metrics are
 * repeated, and those of the queues do not depend on it.
 */
import { CERTIFICATE_STATES, listCertificates } from '#src/certificates/certificate-store.ts'
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { DOMAIN_STATES } from '#src/domains/domain-status.ts'
import { dayOf } from '#src/egress/warm-up.ts'
import { readCertificateExpiries } from '#src/going-live/certificates.ts'
import type { MetricSeries, MetricSnapshot } from '#src/metrics/registry.ts'
import { sql } from '#src/stores/sql.ts'

const EVERY_MS = 60_000
const CERTIFICATES_EVERY_MS = 600_000
/** More sources or nodes than this have no series. */
const MAX_NAMES = 1000

type MetricsContext = Pick<Context, 'config' | 'db' | 'clock' | 'log'>

/** Returns a function that reads the metrics, or repeats those of the last minute. */
export function createInstallationMetrics(ctx: MetricsContext): () => Promise<MetricSnapshot> {
  let read: MetricSnapshot = {}
  let readAtMs = -Infinity
  const certificates = watchCertificates(ctx)
  return async () => {
    if (performance.now() - readAtMs >= EVERY_MS) {
      readAtMs = performance.now()
      read = await readInstallationMetrics(ctx).catch((error: unknown) => {
        ctx.log.warn({ err: error }, 'failed to measure the installation; the last metrics are repeated')
        return read
      })
    }
    return { ...read, ...certificates() }
  }
}

/** Without the expiry of certificates. One query after the other: together, each would hold a connection of its own. */
export async function readInstallationMetrics(ctx: MetricsContext): Promise<MetricSnapshot> {
  const warmUp = await readWarmUp(ctx)
  const blocklisted = await readBlocklisted(ctx)
  const checks = await readChecks(ctx)
  const domains = await readDomains(ctx)
  const accounts = await readAccounts(ctx)
  const nodes = await readNodes(ctx)
  const certificates = await listCertificates(ctx.db)
  return {
    mailstead_source_warm_up_room: warmUp,
    mailstead_source_blocklisted: blocklisted,
    mailstead_source_checks: checks,
    mailstead_certificates: CERTIFICATE_STATES.map((name) => ({
      labels: [name],
      value: certificates.filter(({ state }) => state === name).length,
    })),
    mailstead_domains: domains,
    mailstead_accounts: accounts,
    mailstead_node_silent_seconds: nodes,
  }
}

function watchCertificates({ config, db, log }: MetricsContext): () => MetricSnapshot {
  const expiries = new Map<string, number>()
  const dns = createDomainDns(config)
  let readAtMs = -Infinity
  return () => {
    if (performance.now() - readAtMs >= CERTIFICATES_EVERY_MS) {
      readAtMs = performance.now()
      readCertificateExpiries({ config, dns, readRequested: () => listCertificates(db) }).then(
        (found) => found.forEach(({ host, expiresAt }) => expiries.set(host, expiresAt)),
        (error: unknown) => log.debug({ err: error }, 'failed to read the certificates of the public URLs'),
      )
    }
    const series = [...expiries].map(([host, expiresAt]) => ({ labels: [host], value: Math.round(expiresAt / 1000) }))
    return series.length === 0 ? {} : { mailstead_certificate_expiry_timestamp_seconds: series }
  }
}

interface NamedValue {
  readonly name: string
  readonly value: number
}

function seriesOf(rows: readonly NamedValue[]): MetricSeries[] {
  return rows.map(({ name, value }) => ({ labels: [name], value }))
}

/** A step beyond the schedule is unlimited, and has no series. */
async function readWarmUp({ config, db, clock }: MetricsContext): Promise<MetricSeries[]> {
  const { rows } = await db.query<NamedValue>(
    sql`
      SELECT s.name, sum(greatest(0, w.amount - d.taken))::int AS value
      FROM egress_sources s
      JOIN egress_days d ON d.source_id = s.id AND d.day = $1::date
      JOIN unnest($2::int[]) WITH ORDINALITY AS w (amount, place) ON w.place = d.step + 1
      WHERE s.warming_since IS NOT NULL
      GROUP BY s.name
      ORDER BY s.name
      LIMIT $3
    `,
    [dayOf(clock.now()), config.warmUp, MAX_NAMES],
  )
  return seriesOf(rows)
}

async function readBlocklisted({ db }: MetricsContext): Promise<MetricSeries[]> {
  const { rows } = await db.query<NamedValue>(
    sql`
      SELECT s.name, (c.status = 'failed')::int AS value
      FROM egress_sources s
      JOIN egress_checks c ON c.source_id = s.id AND c.name = 'blocklists' AND c.status <> 'skipped'
      ORDER BY s.name
      LIMIT $1
    `,
    [MAX_NAMES],
  )
  return seriesOf(rows)
}

async function readChecks({ db }: MetricsContext): Promise<MetricSeries[]> {
  const { rows } = await db.query<NamedValue & { readonly status: string }>(sql`
    SELECT name, status, count(*)::int AS value
    FROM egress_checks
    GROUP BY name, status
  `)
  return rows.map(({ name, status, value }) => ({ labels: [name, status], value }))
}

async function readDomains({ db }: MetricsContext): Promise<MetricSeries[]> {
  const { rows } = await db.query<NamedValue>(
    sql`
      SELECT s.name, count(d.id)::int AS value
      FROM unnest($1::text[]) AS s (name)
      LEFT JOIN domains d ON d.verification_status = s.name
      GROUP BY s.name
    `,
    [Object.keys(DOMAIN_STATES)],
  )
  return seriesOf(rows)
}

async function readAccounts({ db }: MetricsContext): Promise<MetricSeries[]> {
  const { rows } = await db.query<NamedValue>(
    sql`
      SELECT s.name, count(a.id)::int AS value
      FROM unnest($1::text[]) AS s (name)
      LEFT JOIN connected_accounts a ON a.state = s.name
      GROUP BY s.name
    `,
    [['active', 'paused']],
  )
  return seriesOf(rows)
}

async function readNodes({ db }: MetricsContext): Promise<MetricSeries[]> {
  const { rows } = await db.query<NamedValue>(
    sql`
      SELECT node AS name, greatest(0, extract(epoch FROM now() - max(seen_at)))::float AS value
      FROM node_processes
      GROUP BY node
      ORDER BY node
      LIMIT $1
    `,
    [MAX_NAMES],
  )
  return seriesOf(rows)
}
