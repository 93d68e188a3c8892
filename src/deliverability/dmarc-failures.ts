/**
 * The one place where the desk reads what DMARC aggregate reports say: their sources, by domain and address. A message
 * fails DMARC if neither SPF nor DKIM passes for the domain in From. Only verified reports have sources.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { DmarcFailure } from './facts.ts'

/** Reports are daily, and some receivers send them two days later. */
export const DMARC_DAYS = 7
const MAX_ROWS = 50

export interface DmarcQuery {
  /** Null: of all workspaces. */
  readonly workspaceId: string | null
  readonly since: Date
}

/** The domains are few, and the index of their sources begins with domain and day. */
const FAILURES = sql`
  SELECT s.header_from AS domain, host(s.source_ip) AS address, min(e.name) AS source,
    sum(s.messages)::float8 AS messages,
    coalesce(sum(s.messages) FILTER (WHERE NOT s.is_dkim_aligned AND NOT s.is_spf_aligned), 0)::float8 AS failed,
    min(s.day) FILTER (WHERE NOT s.is_dkim_aligned AND NOT s.is_spf_aligned)::timestamptz AS since,
    (array_agg(r.organization ORDER BY s.messages DESC))[1] AS reporter
  FROM domains d
  JOIN dmarc_sources s ON s.domain_id = d.id AND s.day >= ($2::timestamptz AT TIME ZONE 'UTC')::date
  JOIN dmarc_reports r ON r.id = s.report_id
  LEFT JOIN egress_sources e ON e.address = s.source_ip
  WHERE $1::uuid IS NULL OR d.workspace_id = $1
  GROUP BY 1, 2
  HAVING bool_or(NOT s.is_dkim_aligned AND NOT s.is_spf_aligned)
  ORDER BY 5 DESC, 1, 2
  LIMIT ${MAX_ROWS}
`

/** Failures by domain and address, the most first. */
export async function readDmarcFailures(
  db: Queryable,
  { workspaceId, since }: DmarcQuery,
): Promise<readonly DmarcFailure[]> {
  return (await db.query<DmarcFailure>(FAILURES, [workspaceId, since])).rows
}
