/**
 * Sends the TLS reports of past days to each domain that requests them (RFC 8460): by mail from TLS_REPORT_FROM, or by
 * HTTPS. A failed report is retried with growing delays for a day. Workers share the reports by claims. A crash after a
 * mail was accepted and before this was stored: its idempotency key prevents a duplicate. A POST may arrive twice, with
 * the same report-id.
 */
import { gzipSync } from 'node:zlib'
import type { Context } from '#src/context.ts'
import type { DnsQueryResult, DomainDns } from '#src/domains/domain-dns.ts'
import { newId } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import type { Acceptor } from '#src/messages/accept.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { parseDestinations, type ReportDestination } from './destinations.ts'
import { composeReportMail, type TlsReportMail } from './report-mail.ts'
import { composeTlsReport, type TlsReportHeader, type TlsResult } from './report.ts'

export interface TlsReporting {
  readonly ctx: Pick<Context, 'db' | 'clock' | 'config' | 'log'>
  readonly acceptor: Acceptor
  readonly http: HttpClient
  readonly dns: Pick<DomainDns, 'txt'>
}

interface DueReport {
  readonly day: string
  readonly domain: string
  readonly tries: number
}

const BATCH = 20
const MAX_TRIES = 6
const POST_MS = 30_000
/** Spread over this time, because all senders would report at midnight (RFC 8460 4.1). */
const SPREAD = '4 hours'

const DELETE_OLD_RESULTS = `DELETE FROM tls_results WHERE day < $1::date - 3`
const DELETE_OLD_REPORTS = `DELETE FROM tls_reports WHERE day < $1::date - 30`
const PLAN = sql`
  INSERT INTO tls_reports (day, domain, due_at)
  SELECT DISTINCT day, domain, $2::timestamptz + random() * $3::float8 * interval '${SPREAD}'
  FROM tls_results
  WHERE day < $1::date
  ON CONFLICT DO NOTHING
`
const CLAIM = sql`
  UPDATE tls_reports
  SET tries = tries + 1, due_at = $1::timestamptz + $2::float8 * interval '30 minutes' * power(2, tries)
  WHERE (day, domain) IN (
    SELECT day, domain
    FROM tls_reports
    WHERE state = 'waiting' AND due_at <= $1
    ORDER BY due_at
    LIMIT ${BATCH}
    FOR UPDATE SKIP LOCKED
  )
  RETURNING day::text, domain, tries
`
const RESULTS = sql`
  SELECT policy, result, mx_host AS "mxHost", mx_address AS "mxAddress", sending_ip AS "sendingIp", mx_helo AS "mxHelo",
    reason, count::int
  FROM tls_results
  WHERE day = $1 AND domain = $2
  ORDER BY count DESC
  LIMIT 1000
`
const SENDER = sql`
  SELECT id AS "domainId", workspace_id AS "workspaceId"
  FROM domains
  WHERE domain = $1 AND verification_status IN ('verified', 'degraded')
  ORDER BY verified_at
  LIMIT 1
`

/** Sends one batch; true when there may be more. `from`: TLS_REPORT_FROM. */
export async function sendTlsReports(reporting: TlsReporting, from: string): Promise<boolean> {
  const {
    ctx: { db, clock, config, log },
  } = reporting
  const now = new Date(clock.now())
  const today = now.toISOString().slice(0, 10)
  await db.query(PLAN, [today, now, config.retryScale])
  await db.query(DELETE_OLD_RESULTS, [today])
  await db.query(DELETE_OLD_REPORTS, [today])
  const sender = await findSender(reporting, from)
  if (sender === null) {
    log.warn({ from }, 'TLS reports are not sent: TLS_REPORT_FROM must be an address of a verified sending domain')
    return false
  }
  const { rows } = await db.query<DueReport>(CLAIM, [now, config.retryScale])
  await Promise.all(rows.map((due) => sendReport(reporting, due, sender)))
  return rows.length === BATCH
}

async function findSender({ ctx: { db } }: TlsReporting, from: string): Promise<TlsReportMail['sender'] | null> {
  const parsed = parseAddress(from)
  if (!parsed.ok) return null
  const {
    rows: [row],
  } = await db.query<{ domainId: string; workspaceId: string }>(SENDER, [parsed.address.domain])
  return row === undefined ? null : { ...row, address: parsed.address.address }
}

async function sendReport(
  reporting: TlsReporting,
  { day, domain, tries }: DueReport,
  sender: TlsReportMail['sender'],
): Promise<void> {
  const {
    ctx: { db, config, log },
    dns,
  } = reporting
  const about: TlsReportHeader = { day, domain, organization: config.serverName, contact: sender.address }
  const { rows: results } = await db.query<TlsResult>(RESULTS, [day, domain])
  const destinations = destinationsOf(await dns.txt(`_smtp._tls.${domain}`))
  const content = gzipSync(JSON.stringify(composeTlsReport(about, results)))
  const sent = await Promise.all((destinations ?? []).map((to) => deliver(reporting, { about, content, sender }, to)))
  const isDone = destinations !== null && sent.every((isSent) => isSent)
  if (!isDone && tries < MAX_TRIES) return
  await db.query('UPDATE tls_reports SET state = $3 WHERE day = $1 AND domain = $2', [
    day,
    domain,
    isDone ? 'sent' : 'given_up',
  ])
  log.info({ domain, day, to: destinations?.length ?? 0 }, isDone ? 'TLS report sent' : 'TLS report failed')
}

/** Null while DNS fails; empty when the domain no longer requests reports. */
function destinationsOf(record: DnsQueryResult<string>): ReportDestination[] | null {
  return record.kind === 'failed' ? null : parseDestinations(record.records)
}

async function deliver(
  { ctx, acceptor, http }: TlsReporting,
  mail: Omit<TlsReportMail, 'to'>,
  to: ReportDestination,
): Promise<boolean> {
  if (to.kind === 'https') {
    const headers = { 'content-type': 'application/tlsrpt+gzip' }
    const posted = await http.post(to.url, { headers, body: mail.content, timeoutMs: POST_MS })
    return posted.ok && posted.status >= 200 && posted.status < 300
  }
  const now = new Date(ctx.clock.now())
  const { kind } = await acceptor.accept(composeReportMail({ ...mail, to }, newId(now.getTime()), now))
  return kind === 'stored' || kind === 'replayed'
}
