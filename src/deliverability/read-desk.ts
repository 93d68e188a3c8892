/**
 * Reads the deliverability desk: of the installation for the operator, or of one workspace. It reads the statistics,
 * the throttles and the checks of sources, never messages. Each part is bounded: the largest receivers, sources,
 * senders.
 */
import type { Context } from '#src/context.ts'
import { listFindings, type StoredFinding } from '#src/egress/check-store.ts'
import { listSources, type EgressSource } from '#src/egress/sources.ts'
import { listNotices } from '#src/operator/notices.ts'
import { parsedShaping, shapingFileOf } from '#src/shaping/shaping-file-watch.ts'
import { INSTALLATION } from '#src/statistics/dimensions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { DMARC_DAYS, readDmarcFailures } from './dmarc-failures.ts'
import type { CertificateDesk, Desk, NoticeDesk, SenderDesk, SourceDesk, Traffic } from './facts.ts'
import { readReceivers } from './read-receivers.ts'
import { NO_TRAFFIC, readTraffic, splitPair, totalsBy, type TrafficReports } from './read-traffic.ts'

const DAY_MS = 24 * 3_600_000
const MAX_NOTICES = 100
const MAX_SOURCES = 200

export type DeskContext = Pick<Context, 'db' | 'clock' | 'config'>

/** `workspaceId` null: of the whole installation. */
export async function readDesk(ctx: DeskContext, workspaceId: string | null): Promise<Desk> {
  const { db, clock, config } = ctx
  const now = new Date(clock.now())
  const scope = workspaceId ?? INSTALLATION
  const isInstallation = workspaceId === null
  const shaping = parsedShaping(shapingFileOf(config))
  const [reports, dmarc, certificates, notices] = await Promise.all([
    readTraffic(db, scope),
    readDmarcFailures(db, { workspaceId, since: new Date(now.getTime() - DMARC_DAYS * DAY_MS) }),
    isInstallation ? readCertificates(db, now) : [],
    isInstallation ? readNotices(db) : [],
  ])
  const [receivers, sources, senders] = await Promise.all([
    readReceivers(db, reports, { scope, now, shaping, warmUp: config.warmUp }),
    isInstallation ? readSources(db, reports) : [],
    isInstallation ? readWorkspaces(db, reports) : domainsIn(reports),
  ])
  return { at: now, isOfWorkspace: !isInstallation, receivers, sources, senders, dmarc, certificates, notices }
}

async function readSources(db: Queryable, { pairs }: TrafficReports): Promise<SourceDesk[]> {
  const [sources, findings] = [await listSources(db), await listFindings(db)]
  const traffic =
    pairs.sources === null ? new Map<string, Traffic>() : totalsBy(pairs.sources, (pair) => splitPair(pair)[1])
  return sources
    .slice(0, MAX_SOURCES)
    .map((source) => sourceDesk(source, traffic.get(source.name) ?? NO_TRAFFIC, findings.get(source.id) ?? []))
}

function sourceDesk(
  { name, address, state, goneSince }: EgressSource,
  day: Traffic,
  findings: readonly StoredFinding[],
): SourceDesk {
  const problems = findings.flatMap(({ check, status, detail, todo, since }) =>
    status === 'failed' || status === 'warning' ? [{ check, status, detail, todo, since }] : [],
  )
  return { name, address, state, goneSince, day, problems }
}

async function readWorkspaces(db: Queryable, { senders }: TrafficReports): Promise<SenderDesk[]> {
  const week = totalsBy(senders, (id) => id)
  const { rows } = await db.query<{ id: string; name: string }>(
    'SELECT id, name FROM workspaces WHERE id::text = ANY ($1::text[]) ORDER BY id',
    [[...week.keys()]],
  )
  return rows.map(({ id, name }) => ({ id, name, week: week.get(id) ?? NO_TRAFFIC }))
}

function domainsIn({ senders }: TrafficReports): SenderDesk[] {
  return [...totalsBy(senders, (domain) => domain)].map(([name, week]) => ({ id: name, name, week }))
}

/** Names in use whose certificate has expired, or will within a week. */
async function readCertificates(db: Queryable, now: Date): Promise<readonly CertificateDesk[]> {
  const { rows } = await db.query<CertificateDesk>(
    sql`
      SELECT name, max(expires_at) AS "expiresAt"
      FROM certificates
      WHERE wanted_at > $1::timestamptz - interval '14 days'
      GROUP BY use, name
      HAVING max(expires_at) < $1::timestamptz + interval '7 days'
      ORDER BY 2
      LIMIT 20
    `,
    [now],
  )
  return rows
}

async function readNotices(db: Queryable): Promise<NoticeDesk[]> {
  const { items } = await listNotices(db, { all: false, limit: MAX_NOTICES })
  return items.map(({ kind, subject, text, count, firstSeen }) => ({ kind, subject, text, count, firstSeen }))
}
