/**
 * Removing a sending domain. Its DKIM keys and API keys go with it in one statement, so they stop working when it commits; its queued mail
 * is failed by the worker, which finds the domain in domain_removals: at once, and once more a while later.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

interface Removal {
  readonly domainId: string
  readonly workspaceId: string
  readonly domain: string
  readonly removedAt: Date
}

/** Leaves word for the worker about the queued mail. False when the workspace has no such domain. */
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

/** Those whose mail is to be failed now, the longest due first. */
export async function readRemovals(db: Queryable, until: Date, limit: number): Promise<Removal[]> {
  const { rows } = await db.query<Removal>(
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

/** Its mail is looked for once more at that time; null: this was the last time. */
export async function settleRemoval(db: Queryable, domainId: string, dueAt: Date | null): Promise<void> {
  if (dueAt === null) await db.query('DELETE FROM domain_removals WHERE domain_id = $1', [domainId])
  else await db.query('UPDATE domain_removals SET due_at = $2 WHERE domain_id = $1', [domainId, dueAt])
}
