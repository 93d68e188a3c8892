/**
 * Removes a sending domain. One statement deletes its DKIM keys and API keys with it, so they stop working at the
 * commit. The worker fails its queued mail: it finds the domain in domain_removals, at once and once more later.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

interface DomainRemoval {
  readonly domainId: string
  readonly workspaceId: string
  readonly domain: string
  readonly removedAt: Date
}

/** Removes the domain and queues the removal of its mail for the worker. False if the workspace has no such domain. */
export async function removeDomain(
  ctx: Pick<Context, 'db' | 'clock'>,
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const { rowCount } = await ctx.db.query(
    sql`
      WITH removed AS (
        DELETE FROM domains
        WHERE id = $1 AND workspace_id = $2
        RETURNING id, workspace_id, domain
      )
      INSERT INTO domain_removals (domain_id, workspace_id, domain, removed_at, due_at)
      SELECT id, workspace_id, domain, $3, $3
      FROM removed
    `,
    [id, workspaceId, new Date(ctx.clock.now())],
  )
  return rowCount === 1
}

/** Removals whose mail is to be failed now, longest due first. */
export async function listDueRemovals(db: Queryable, until: Date, limit: number): Promise<DomainRemoval[]> {
  const { rows } = await db.query<DomainRemoval>(
    sql`
      SELECT domain_id AS "domainId", workspace_id AS "workspaceId", domain, removed_at AS "removedAt"
      FROM domain_removals
      WHERE due_at <= $1
      ORDER BY due_at
      LIMIT $2
    `,
    [until, limit],
  )
  return rows
}

/** Checks its mail once more at that time; null: that was the last time. */
export async function rescheduleRemoval(db: Queryable, domainId: string, dueAt: Date | null): Promise<void> {
  if (dueAt === null) await db.query('DELETE FROM domain_removals WHERE domain_id = $1', [domainId])
  else await db.query('UPDATE domain_removals SET due_at = $2 WHERE domain_id = $1', [domainId, dueAt])
}
