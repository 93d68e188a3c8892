/**
 * Where a workspace may forward mail to, so that nobody uses a route as an open relay or floods a stranger: addresses
 * at its own verified domains, and those of its members, who proved by sign-in that they are theirs. The check is
 * repeated for each mail, because a member may leave.
 */
import { parseAddress } from '#src/mail/address.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export const MAX_TARGETS = 5

/** SQL: whether the workspace may forward to an address; both are expressions. */
export function mayForwardTo(workspaceId: string, address: string): string {
  return sql`(
    EXISTS (
      SELECT
      FROM domains own
      WHERE own.workspace_id = ${workspaceId} AND own.domain = lower(substring(${address} FROM '[^@]*$'))
        AND own.verification_status IN ('verified', 'degraded')
    )
    OR EXISTS (
      SELECT
      FROM workspace_members m
      JOIN users u ON u.id = m.user_id
      WHERE m.workspace_id = ${workspaceId} AND u.email = lower(${address}) AND u.disabled_at IS NULL
    )
  )`
}

export type TargetProblem = 'not-an-address' | 'not-permitted'

/** The first address that the workspace may not forward to, or null. */
export async function findTargetProblem(
  db: Queryable,
  workspaceId: string,
  addresses: readonly string[],
): Promise<{ readonly problem: TargetProblem; readonly address: string } | null> {
  const unparsed = addresses.find((address) => !parseAddress(address).ok)
  if (unparsed !== undefined) return { problem: 'not-an-address', address: unparsed }
  if (addresses.length === 0) return null
  const { rows } = await db.query<{ address: string }>(
    sql`
      SELECT t.address
      FROM unnest($2::text[]) AS t (address)
      WHERE NOT ${mayForwardTo('$1::uuid', 't.address')}
      LIMIT 1
    `,
    [workspaceId, addresses],
  )
  const [row] = rows
  return row === undefined ? null : { problem: 'not-permitted', address: row.address }
}
