/**
 * Stores the TLS reports of others about the mail domains of this server. A report is stored once, identified by its
 * organisation, its id and its signer. A signed report replaces the same report without a signature, never the reverse.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newestFirst, readUncounted, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { TlsReportArrival } from './received-queue.ts'
import type { TlsReport, TlsReportPolicy } from './schema.ts'

export interface ReceivedTlsReport extends TlsReport {
  readonly id: string
  readonly via: TlsReportArrival['via']
  readonly peer: string
  /** The domain that signed it; '' = unsigned, so anybody may have written it. */
  readonly signer: string
  readonly successes: number
  readonly failures: number
}

export type NewTlsReport = Omit<ReceivedTlsReport, 'successes' | 'failures'>

const STORE = sql`
  INSERT INTO received_tls_reports (
    id, organization, report_id, signer, via, peer, contact, begins_at, ends_at, policies, successes, failures
  )
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
  WHERE $4 <> '' OR NOT EXISTS (SELECT FROM received_tls_reports WHERE organization = $2 AND report_id = $3)
  ON CONFLICT ON CONSTRAINT received_tls_reports_once DO NOTHING
`
const DELETE_UNSIGNED = `DELETE FROM received_tls_reports WHERE organization = $1 AND report_id = $2 AND signer = ''`

/** Call it in a transaction. False when the report is already stored. */
export async function storeTlsReport(tx: Queryable, one: NewTlsReport): Promise<boolean> {
  if (one.signer !== '') await tx.query(DELETE_UNSIGNED, [one.organization, one.reportId])
  const { rowCount } = await tx.query(STORE, [
    one.id,
    one.organization,
    one.reportId,
    one.signer,
    one.via,
    one.peer,
    one.contact,
    one.beginsAt,
    one.endsAt,
    JSON.stringify(one.policies),
    sumOf(one.policies, 'successes'),
    sumOf(one.policies, 'failures'),
  ])
  return rowCount === 1
}

/** The sum, limited to the largest safe integer. */
export function sumOf(policies: readonly TlsReportPolicy[], what: 'successes' | 'failures'): number {
  return Math.min(
    Number.MAX_SAFE_INTEGER,
    policies.reduce((sum, policy) => sum + policy[what], 0),
  )
}

/** The bounce subdomain (src/domains/records.ts). */
const BOUNCE = /^bounce\./

/** The names that are mail domains of this server: those in `always`, and bounce subdomains of sending domains. */
export async function findOwnDomains(
  db: Queryable,
  names: readonly string[],
  always: readonly string[],
): Promise<ReadonlySet<string>> {
  const parents = names.flatMap((name) => (BOUNCE.test(name) ? [name.replace(BOUNCE, '')] : []))
  const { rows } = await db.query<{ domain: string }>('SELECT domain FROM domains WHERE domain = ANY ($1::text[])', [
    parents,
  ])
  return new Set([...always.filter((name) => names.includes(name)), ...rows.map(({ domain }) => `bounce.${domain}`)])
}

interface ReportFilter extends Pick<PageRequest, 'limit' | 'at'> {
  /** Only reports with failures. */
  readonly isFailing: boolean
}

const COLUMNS = sql`
  id, organization, report_id AS "reportId", signer, via, peer, contact, begins_at AS "beginsAt", ends_at AS "endsAt",
  policies, successes, failures
`

/** The newest first. */
export function listReceivedTlsReports(
  db: Queryable,
  { isFailing, ...page }: ReportFilter,
): Promise<Page<ReceivedTlsReport>> {
  const where = '(failures > 0 OR NOT $1)'
  const listing = { columns: COLUMNS, from: 'received_tls_reports', where, order: newestFirst(), values: [isFailing] }
  return readUncounted(db, listing, page)
}

/** The JSON form for the api and the command line. */
export function serializeTlsReport({
  reportId,
  beginsAt,
  endsAt,
  signer,
  policies,
  ...rest
}: ReceivedTlsReport): Record<string, unknown> {
  return {
    ...rest,
    report_id: reportId,
    signer: signer === '' ? null : signer,
    begins_at: beginsAt.toISOString(),
    ends_at: endsAt.toISOString(),
    policies: policies.map(({ details, ...policy }) => ({
      ...policy,
      details: details.map(({ sendingIp, mxHost, mxHelo, mxIp, ...one }) => ({
        ...one,
        sending_ip: sendingIp,
        mx_host: mxHost,
        mx_helo: mxHelo,
        mx_ip: mxIp,
      })),
    })),
  }
}
