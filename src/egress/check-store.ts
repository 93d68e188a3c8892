/**
 * Stores the results of source checks: the last finding of each check, when it was made, and since when it has the same
 * status. A claim moves the due time of a source forward, so any number of workers share the sources, and a worker that
 * dies only delays one.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { CheckName, CheckedSource, SourceFinding } from './source-checks.ts'

/** Reputation does not change by the minute, and blocklists limit how often they may be queried. */
const CHECK_INTERVAL_MS = 6 * 3600 * 1000

export interface DueSource extends CheckedSource {
  readonly id: string
}

export async function claimDueSources(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  limit: number,
): Promise<DueSource[]> {
  const now = clock.now()
  const { rows } = await db.query<DueSource>(
    sql`
      UPDATE egress_sources
      SET check_due_at = $2
      WHERE id IN (
        SELECT id
        FROM egress_sources
        WHERE check_due_at <= $1
        ORDER BY check_due_at
        LIMIT $3
        FOR UPDATE SKIP LOCKED
      )
      RETURNING id, name, host(address) AS address, ehlo_name AS "ehloName"
    `,
    [new Date(now), new Date(now + CHECK_INTERVAL_MS), limit],
  )
  return rows
}

export interface StoredFinding extends SourceFinding {
  readonly check: CheckName
  readonly checkedAt: Date
  readonly since: Date
}

export type NewFinding = SourceFinding & { readonly check: CheckName }

/** Stores findings and returns the checks whose status changed. A skipped check does not replace an earlier result. */
export async function storeFindings(
  db: Queryable,
  sourceId: string,
  findings: readonly NewFinding[],
  now: Date,
): Promise<CheckName[]> {
  const { rows } = await db.query<{ name: CheckName; isNew: boolean }>(
    sql`
      INSERT INTO egress_checks AS c (source_id, name, status, detail, todo, since, checked_at)
      SELECT s.id, i.name, i.status, i.detail, i.todo, $6, $6
      FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS i (name, status, detail, todo), egress_sources s
      WHERE s.id = $1
      ON CONFLICT (source_id, name)
      DO UPDATE SET status = excluded.status,
        detail = excluded.detail,
        todo = excluded.todo,
        checked_at = $6,
        since = CASE WHEN c.status = excluded.status THEN c.since ELSE $6 END
      WHERE excluded.status <> 'skipped' OR c.status = 'skipped'
      RETURNING name, since = $6 AS "isNew"
    `,
    [sourceId, ...columnsOf(findings, [(f) => f.check, (f) => f.status, (f) => f.detail, (f) => f.todo]), now],
  )
  return rows.filter(({ isNew }) => isNew).map(({ name }) => name)
}

/** All findings by source id. */
export async function listFindings(db: Queryable): Promise<ReadonlyMap<string, readonly StoredFinding[]>> {
  const { rows } = await db.query<StoredFinding & { sourceId: string }>(sql`
    SELECT source_id AS "sourceId", name AS "check", status, detail, todo, since, checked_at AS "checkedAt"
    FROM egress_checks
    ORDER BY source_id, name
  `)
  return Map.groupBy(rows, ({ sourceId }) => sourceId)
}
