/**
 * Which verified domains a report is about. Each record belongs to the most specific verified domain that its From
 * domain is, or is below: so a report about example.com tells the workspace of news.example.com only about its own
 * mail. Domains that no workspace has verified get nothing.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { AggregateReport, ReportRecord } from './aggregate-report.ts'

export interface ReportedDomain {
  readonly id: string
  readonly workspaceId: string
  readonly domain: string
}

export interface DomainRecords {
  readonly owner: ReportedDomain
  readonly records: readonly ReportRecord[]
}

/** From domains of one report that are looked up. */
const MAX_NAMES = 1000

/** The records of a report by domain; a domain without records is in it if the report is about its own policy. */
export async function recordsByDomain(
  db: Queryable,
  { policy, records }: Pick<AggregateReport, 'policy' | 'records'>,
): Promise<DomainRecords[]> {
  const names = [...new Set([policy.domain, ...records.map(({ headerFrom }) => headerFrom)])].slice(0, MAX_NAMES)
  const { rows } = await db.query<ReportedDomain>(
    sql`
      SELECT id, workspace_id AS "workspaceId", domain
      FROM domains
      WHERE domain = ANY ($1::text[]) AND verification_status IN ('verified', 'degraded')
    `,
    [[...new Set(names.flatMap(withParents))]],
  )
  const owners = new Map(rows.map((row) => [row.domain, row]))
  const found = new Map<string, ReportRecord[]>()
  const own = owners.get(policy.domain)
  if (own !== undefined) found.set(own.domain, [])
  for (const record of records) {
    if (!isWithin(record.headerFrom, policy.domain)) continue // its policy is another
    const name = withParents(record.headerFrom).find((parent) => owners.has(parent))
    if (name === undefined) continue
    const list = found.get(name) ?? []
    list.push(record)
    found.set(name, list)
  }
  return [...found].flatMap(([name, list]) => {
    const owner = owners.get(name)
    return owner === undefined ? [] : [{ owner, records: list }]
  })
}

function isWithin(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`)
}

/** The name and its parents of at least two labels, the most specific first. */
function withParents(name: string): string[] {
  const labels = name.split('.').slice(-MAX_LABELS)
  return labels.slice(0, -1).map((_, i) => labels.slice(i).join('.'))
}

const MAX_LABELS = 10
