/**
 * What verified DMARC reports say about a domain in a period: totals, reporters, and the sources with most mail, each
 * with its next step; and the same totals for all domains of the installation. Unverified reports are only counted as
 * such. Sums of one domain read its rows of the period by index.
 */
import { getDomain } from 'tldts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { DmarcPolicy } from './aggregate-report.ts'
import { FORWARDED } from './alerts.ts'
import { nextStepOfDomain, nextStepOfSource, type NextStep, type SourceStepCode } from './next-steps.ts'

export interface DmarcTotals {
  readonly messages: number
  readonly passed: number
  readonly dkimAligned: number
  readonly spfAligned: number
  readonly quarantined: number
  readonly rejected: number
}

export interface DmarcSource extends DmarcTotals {
  readonly address: string
  /** Of PTR; null: none, or not looked up yet. */
  readonly name: string | null
  /** The name has that address; otherwise anybody may have written it. */
  readonly isNameConfirmed: boolean
  /** The registered domain of a confirmed name. */
  readonly organization: string | null
  readonly isOurs: boolean
  readonly forwarded: number
  readonly otherDomain: string | null
  /** Domains in From. */
  readonly headerFrom: readonly string[]
  readonly firstDay: string
  readonly lastDay: string
  readonly nextStep: NextStep & { readonly code: SourceStepCode }
}

export interface DmarcSummary {
  /** Of the newest verified report; null: there is none. */
  readonly policy: {
    readonly domain: string
    readonly p: DmarcPolicy
    readonly sp: DmarcPolicy | null
    pct: number
  } | null
  readonly reports: number
  /** Not counted in anything else. */
  readonly unverifiedReports: number
  readonly days: number
  readonly totals: DmarcTotals
  readonly reporters: readonly { readonly organization: string; readonly signer: string; readonly messages: number }[]
  /** The sources with most mail. */
  readonly sources: readonly DmarcSource[]
  /** All of them. */
  readonly sourceCount: number
  readonly nextStep: NextStep
}

/** Days in UTC: from the first to the last, both included. */
export interface DmarcPeriod {
  readonly from: string
  readonly to: string
}

const TOTALS = sql`
  coalesce(sum(s.messages), 0)::float8 AS messages,
  coalesce(sum(s.messages) FILTER (WHERE is_dkim_aligned OR is_spf_aligned), 0)::float8 AS passed,
  coalesce(sum(s.messages) FILTER (WHERE is_dkim_aligned), 0)::float8 AS "dkimAligned",
  coalesce(sum(s.messages) FILTER (WHERE is_spf_aligned), 0)::float8 AS "spfAligned",
  coalesce(sum(s.messages) FILTER (WHERE disposition = 'quarantine'), 0)::float8 AS quarantined,
  coalesce(sum(s.messages) FILTER (WHERE disposition = 'reject'), 0)::float8 AS rejected
`
const IN_PERIOD = 's.domain_id = $1 AND s.day >= $2::date AND s.day <= $3::date'

const ALL = sql`
  SELECT ${TOTALS}, count(DISTINCT s.source_ip)::integer AS "sourceCount", count(DISTINCT s.day)::integer AS days
  FROM dmarc_sources s
  WHERE ${IN_PERIOD}
`
const SOURCES = sql`
  SELECT host(s.source_ip) AS address, n.name, coalesce(n.is_confirmed, false) AS "isNameConfirmed",
    (
      EXISTS (SELECT FROM egress_sources e WHERE host(e.address) = host(s.source_ip))
      OR (n.is_confirmed IS TRUE AND n.name = $6)
    ) AS "isOurs",
    s.messages, s.passed, s."dkimAligned", s."spfAligned", s.quarantined, s.rejected, s.forwarded, s."otherDomain",
    s."headerFrom", s."firstDay", s."lastDay"
  FROM (
    SELECT s.source_ip, ${TOTALS},
      coalesce(
        sum(s.messages) FILTER (
          WHERE NOT is_dkim_aligned AND NOT is_spf_aligned AND override = ANY ($5::text[])
        ), 0
      )::float8 AS forwarded,
      (array_agg(coalesce(dkim_domain, spf_domain) ORDER BY s.messages DESC) FILTER (
        WHERE NOT is_dkim_aligned AND NOT is_spf_aligned AND coalesce(dkim_domain, spf_domain) IS NOT NULL
      ))[1] AS "otherDomain",
      (array_agg(DISTINCT header_from))[:10] AS "headerFrom",
      min(s.day)::text AS "firstDay", max(s.day)::text AS "lastDay"
    FROM dmarc_sources s
    WHERE ${IN_PERIOD}
    GROUP BY s.source_ip
    ORDER BY sum(s.messages) DESC, s.source_ip
    LIMIT $4
  ) s
  LEFT JOIN dmarc_source_names n USING (source_ip)
  ORDER BY s.messages DESC, s.source_ip
`
const REPORTERS = sql`
  SELECT min(organization) AS organization, signer, sum(messages)::float8 AS messages, count(*)::integer AS reports
  FROM dmarc_reports
  WHERE domain_id = $1
    AND (begins_at AT TIME ZONE 'UTC')::date BETWEEN $2::date AND $3::date
  GROUP BY signer
  ORDER BY 3 DESC
`
const POLICY = sql`
  SELECT policy_domain AS domain, policy AS p, subdomain_policy AS sp, percent::integer AS pct
  FROM dmarc_reports
  WHERE domain_id = $1 AND signer <> '' AND (begins_at AT TIME ZONE 'UTC')::date BETWEEN $2::date AND $3::date
  ORDER BY begins_at DESC, id DESC
  LIMIT 1
`

interface ReporterRow {
  readonly organization: string
  readonly signer: string
  readonly messages: number
  readonly reports: number
}

type SourceRow = Omit<DmarcSource, 'organization' | 'nextStep'>
type PolicyRow = NonNullable<DmarcSummary['policy']>

const MAX_REPORTERS = 50

export interface SummaryOptions {
  readonly maxSources: number
  /** A source with this confirmed name is the server itself. */
  readonly serverName: string
}

export async function summarizeDmarc(
  db: Queryable,
  domainId: string,
  { from, to }: DmarcPeriod,
  { maxSources, serverName }: SummaryOptions,
): Promise<DmarcSummary> {
  const period = [domainId, from, to]
  const [all, found, reporters, policies] = await Promise.all([
    db.query<DmarcTotals & { sourceCount: number; days: number }>(ALL, period),
    db.query<SourceRow>(SOURCES, [...period, maxSources, FORWARDED, serverName]),
    db.query<ReporterRow>(REPORTERS, period),
    db.query<PolicyRow>(POLICY, period),
  ])
  const [row] = all.rows
  if (row === undefined) throw new Error('an aggregate has no row')
  const { sourceCount, days, ...totals } = row
  const policy = policies.rows[0] ?? null
  const verified = reporters.rows.filter(({ signer }) => signer !== '')
  const sources = found.rows.map((source) => presentSource(source, policy?.p ?? null))
  const steps = sources.map(({ nextStep: { code }, messages }) => ({ code, messages }))
  return {
    policy,
    days,
    totals,
    sources,
    sourceCount,
    reports: verified.reduce((sum, { reports }) => sum + reports, 0),
    unverifiedReports: reporters.rows.find(({ signer }) => signer === '')?.reports ?? 0,
    reporters: verified
      .slice(0, MAX_REPORTERS)
      .map(({ organization, signer, messages }) => ({ organization, signer, messages })),
    nextStep: nextStepOfDomain({ policy: policy?.p ?? null, percent: policy?.pct ?? 100, days, sources: steps }),
  }
}

function presentSource(source: SourceRow, policy: DmarcPolicy | null): DmarcSource {
  const organization = source.isNameConfirmed && source.name !== null ? getDomain(source.name) : null
  return { ...source, organization, nextStep: nextStepOfSource(source, policy) }
}

export interface DmarcOverview extends DmarcTotals {
  readonly domainId: string
  readonly domain: string
  readonly workspaceId: string
  readonly sources: number
}

const OVERVIEW = sql`
  SELECT d.id AS "domainId", d.domain, d.workspace_id AS "workspaceId",
    count(DISTINCT s.source_ip)::integer AS sources, ${TOTALS}
  FROM dmarc_sources s
  JOIN domains d ON d.id = s.domain_id
  WHERE s.day >= $1::date AND s.day <= $2::date
  GROUP BY d.id
  ORDER BY sum(s.messages) FILTER (WHERE NOT is_dkim_aligned AND NOT is_spf_aligned) DESC NULLS LAST, d.domain, d.id
  LIMIT $3
`

/** The domains with reports, those with most failures first. */
export async function listDmarcDomains(
  db: Queryable,
  { from, to }: DmarcPeriod,
  limit: number,
): Promise<DmarcOverview[]> {
  return (await db.query<DmarcOverview>(OVERVIEW, [from, to, limit])).rows
}
