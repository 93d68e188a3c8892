/**
 * Suppressions of erased addresses: their hashes. They stop mail as the suppressions with an address do, but are in no
 * list. They are pseudonyms, not secrets: somebody who reads the table can find the addresses by guessing them.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { stopsTier } from './cause.ts'

interface CheckedRow {
  /** SQL expressions. */
  readonly workspaceId: string
  readonly address: string
  readonly tier: string
}

/**
 * SQL: joins the suppression that stops the mail of a row as `s (address, cause, kind)`; nulls if there is none.
 * Addresses are hashed only if there are hashes at all: the statement checks that once, in its snapshot.
 */
export function joinSuppression({ workspaceId, address, tier }: CheckedRow): string {
  return sql`
    LEFT JOIN LATERAL (
      SELECT s.address, s.cause, s.kind
      FROM suppressions s
      WHERE s.workspace_id = ${workspaceId} AND s.address = lower(${address}) AND ${stopsTier(tier)}
      UNION ALL
      SELECT '', s.cause, s.kind
      FROM erased_suppressions s
      WHERE s.workspace_id = ${workspaceId}
        AND s.address_hash = erased_address(${workspaceId}, lower(${address}))
        AND EXISTS (SELECT FROM erased_suppressions)
        AND ${stopsTier(tier)}
      LIMIT 1
    ) s ON true`
}

/** Replaces suppressions by their hashes. Returns their number. */
export async function eraseSuppressions(
  tx: Queryable,
  workspaceId: string,
  addresses: readonly string[],
): Promise<number> {
  const { rowCount } = await tx.query(
    sql`
      WITH gone AS (
        DELETE FROM suppressions
        WHERE workspace_id = $1 AND address = ANY ($2::text[])
        RETURNING address, kind, cause, created_at
      )
      INSERT INTO erased_suppressions (workspace_id, address_hash, kind, cause, created_at)
      SELECT $1, erased_address($1, address), kind, cause, created_at
      FROM gone
      ON CONFLICT (workspace_id, address_hash)
      DO UPDATE SET kind = excluded.kind, cause = excluded.cause
    `,
    [workspaceId, addresses],
  )
  return rowCount ?? 0
}

/** Suppresses bulk mail to erased addresses whose owner had unsubscribed, unless they are suppressed already. */
export async function suppressErased(tx: Queryable, workspaceId: string, addresses: readonly string[]): Promise<void> {
  await tx.query(
    sql`
      INSERT INTO erased_suppressions (workspace_id, address_hash, kind, cause)
      SELECT $1, erased_address($1, lower(address)), 'unsubscribe_bulk', 'unsubscribed before the erasure'
      FROM unnest($2::text[]) AS address
      ON CONFLICT DO NOTHING
    `,
    [workspaceId, addresses],
  )
}
