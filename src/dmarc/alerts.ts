/**
 * Raises `domain.unaligned` when a source whose mail fails DMARC reaches a volume, once for each domain and source
 * in 90 days. A domain gets at most ten a day, those with the most mail first, so that forged mail from thousands of
 * machines does not flood its webhooks. Runs in the transaction that stores the report.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { WorkspaceEvent } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import type { ReportRecord } from './aggregate-report.ts'
import { passes } from './received.ts'
import type { ReportedDomain } from './reported-domains.ts'

const DAILY = 10

/** Receivers apply the policy to none of these: they know that the mail was forwarded. */
export const FORWARDED = ['forwarded', 'mailing_list', 'trusted_forwarder'] as const

const RAISE = sql`
  WITH failing AS (
    SELECT source_ip, sum(messages) AS messages
    FROM dmarc_sources s
    WHERE domain_id = $1
      AND day > ($3::timestamptz AT TIME ZONE 'UTC')::date - 7
      AND source_ip = ANY ($2::inet[])
      AND NOT is_dkim_aligned
      AND NOT is_spf_aligned
      AND (override IS NULL OR override <> ALL ($5::text[]))
      AND NOT EXISTS (SELECT FROM dmarc_alerts a WHERE a.domain_id = s.domain_id AND a.source_ip = s.source_ip)
    GROUP BY source_ip
    HAVING sum(messages) >= $4
    ORDER BY sum(messages) DESC
    LIMIT greatest(0, ${DAILY} - (
      SELECT count(*)
      FROM dmarc_alerts
      WHERE domain_id = $1 AND raised_at > $3::timestamptz - interval '1 day'
    ))
  ),
  raised AS (
    INSERT INTO dmarc_alerts (domain_id, source_ip, raised_at)
    SELECT $1, source_ip, $3
    FROM failing
    ON CONFLICT DO NOTHING
    RETURNING source_ip
  )
  SELECT host(source_ip) AS address, messages::float8 AS messages
  FROM raised
  JOIN failing USING (source_ip)
  ORDER BY messages DESC
`

export interface AlertRules {
  readonly now: Date
  /** Messages of one source in seven days; 0: never. */
  readonly minMessages: number
}

/** The events of a report whose sources are stored. */
export async function findAlerts(
  tx: Queryable,
  owner: ReportedDomain,
  records: readonly ReportRecord[],
  { now, minMessages }: AlertRules,
): Promise<WorkspaceEvent[]> {
  const failing = [...new Set(records.filter((record) => !passes(record)).map(({ address }) => address))]
  if (failing.length === 0 || minMessages === 0) return []
  const { rows } = await tx.query<{ address: string; messages: number }>(RAISE, [
    owner.id,
    failing,
    now,
    minMessages,
    FORWARDED,
  ])
  return rows.map(({ address, messages }) => ({
    workspaceId: owner.workspaceId,
    type: 'domain.unaligned',
    recipient: null,
    data: { domain: owner.domain, domain_id: owner.id, source_ip: address, messages },
  }))
}
