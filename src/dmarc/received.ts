/**
 * Stores DMARC reports about verified domains. A report is stored once for each domain, identified by its organisation,
 * its id and its signer. Only a verified report has sources, and counts. An unverified one is listed, so that its
 * domain's owner can see that it came; the verified one replaces it.
 */
import type { Queryable } from '#src/stores/db.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { newId } from '#src/platform/id.ts'
import { newestFirst, readUncounted, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { AggregateReport, DmarcPolicy, ReportRecord } from './aggregate-report.ts'
import type { DomainRecords } from './reported-domains.ts'

export interface NewDmarcReport extends DomainRecords {
  readonly report: AggregateReport
  /** '' = unverified. */
  readonly signer: string
  readonly nowMs: number
}

const STORE = sql`
  INSERT INTO dmarc_reports (
    id, workspace_id, domain_id, organization, report_id, signer, begins_at, ends_at, policy_domain, policy,
    subdomain_policy, percent, messages, passed
  )
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
  WHERE $6 <> ''
    OR NOT EXISTS (SELECT FROM dmarc_reports WHERE domain_id = $3 AND organization = $4 AND report_id = $5)
  ON CONFLICT ON CONSTRAINT dmarc_reports_once DO NOTHING
`
const DELETE_UNVERIFIED = sql`
  DELETE FROM dmarc_reports
  WHERE domain_id = $1 AND organization = $2 AND report_id = $3 AND signer = ''
`
const STORE_SOURCES = sql`
  INSERT INTO dmarc_sources (
    report_id, domain_id, day, n, source_ip, header_from, messages, disposition, is_dkim_aligned, is_spf_aligned,
    override, dkim_domain, spf_domain
  )
  SELECT $1, $2, ($3::timestamptz AT TIME ZONE 'UTC')::date, i.*
  FROM unnest(
    $4::integer[], $5::inet[], $6::text[], $7::bigint[], $8::text[], $9::boolean[], $10::boolean[], $11::text[],
    $12::text[], $13::text[]
  ) AS i
`

/** Call it in a transaction. False when the report is already stored. */
export async function storeDmarcReport(tx: Queryable, one: NewDmarcReport): Promise<boolean> {
  const { owner, records, report, signer, nowMs } = one
  const { organization, reportId, policy, beginsAt, endsAt } = report
  if (signer !== '') await tx.query(DELETE_UNVERIFIED, [owner.id, organization, reportId])
  const id = newId(nowMs)
  const { rowCount } = await tx.query(STORE, [
    id,
    owner.workspaceId,
    owner.id,
    organization,
    reportId,
    signer,
    beginsAt,
    endsAt,
    policy.domain,
    policy.p,
    policy.sp,
    policy.pct,
    messagesOf(records),
    messagesOf(records.filter(passes)),
  ])
  if (rowCount !== 1) return false
  if (signer === '' || records.length === 0) return true
  const columns = columnsOf(
    records.map((record, i) => ({ ...record, n: i + 1 })),
    [
      (r) => r.n,
      (r) => r.address,
      (r) => r.headerFrom,
      (r) => r.messages,
      (r) => r.disposition,
      (r) => r.isDkimAligned,
      (r) => r.isSpfAligned,
      (r) => r.override,
      (r) => r.dkimDomain,
      (r) => r.spfDomain,
    ],
  )
  await tx.query(STORE_SOURCES, [id, owner.id, beginsAt, ...columns])
  return true
}

/** DMARC passes with either of the two. */
export function passes({ isDkimAligned, isSpfAligned }: ReportRecord): boolean {
  return isDkimAligned || isSpfAligned
}

/** The sum, limited to the largest safe integer. */
export function messagesOf(records: readonly ReportRecord[]): number {
  return Math.min(
    Number.MAX_SAFE_INTEGER,
    records.reduce((sum, { messages }) => sum + messages, 0),
  )
}
export interface StoredDmarcReport {
  readonly id: string
  readonly domain: string
  readonly organization: string
  readonly reportId: string
  readonly signer: string
  readonly beginsAt: Date
  readonly endsAt: Date
  readonly policyDomain: string
  readonly policy: DmarcPolicy
  readonly subdomainPolicy: DmarcPolicy | null
  readonly percent: number
  readonly messages: number
  readonly passed: number
}

const COLUMNS = sql`
  r.id, d.domain, r.organization, r.report_id AS "reportId", r.signer, r.begins_at AS "beginsAt", r.ends_at AS "endsAt",
  r.policy_domain AS "policyDomain", r.policy, r.subdomain_policy AS "subdomainPolicy", r.percent,
  r.messages::float8 AS messages, r.passed::float8 AS passed
`

/** The reports about one domain, the newest first. */
export function listDmarcReports(
  db: Queryable,
  domainId: string,
  page: Pick<PageRequest, 'limit' | 'at'>,
): Promise<Page<StoredDmarcReport>> {
  const listing = {
    columns: COLUMNS,
    from: 'dmarc_reports r',
    joins: 'JOIN domains d ON d.id = r.domain_id',
    where: 'r.domain_id = $1',
    order: newestFirst('r.id'),
    values: [domainId],
  }
  return readUncounted(db, listing, page)
}

/** The JSON form for the api and the command line. */
export function serializeDmarcReport(one: StoredDmarcReport): Record<string, unknown> {
  return {
    id: one.id,
    domain: one.domain,
    organization: one.organization,
    report_id: one.reportId,
    signer: one.signer === '' ? null : one.signer,
    is_counted: one.signer !== '',
    begins_at: one.beginsAt.toISOString(),
    ends_at: one.endsAt.toISOString(),
    policy: {
      domain: one.policyDomain,
      p: one.policy,
      sp: one.subdomainPolicy,
      pct: one.percent,
    },
    messages: one.messages,
    passed: one.passed,
    failed: one.messages - one.passed,
  }
}
