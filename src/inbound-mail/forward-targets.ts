/**
 * Where a workspace may forward mail to, so that nobody uses a route as an open relay or floods a stranger: addresses
 * at its own verified domains, those of its members, who proved by sign-in that they are theirs, and others whose owner
 * confirmed it (forward-addresses.ts). The check is repeated for each mail, because a member may leave.
 */
import { parseAddress } from '#src/mail/address.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export const MAX_TARGETS = 5

/** SQL: whether the workspace may forward to an address; both are expressions. */
export function mayForwardTo(workspaceId: string, address: string): string {
  return sql`(
    ${isOwnTarget(workspaceId, address)}
    OR EXISTS (
      SELECT
      FROM forward_addresses f
      WHERE f.workspace_id = ${workspaceId} AND f.address = lower(${address}) AND f.confirmed_at IS NOT NULL
    )
  )`
}

/** SQL: whether an address needs no confirmation: it is at a domain of the workspace, or that of a member. */
export function isOwnTarget(workspaceId: string, address: string): string {
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

/** The first text that is no address, or null. */
export function findTargetProblem(addresses: readonly string[]): string | null {
  return addresses.find((address) => !parseAddress(address).ok) ?? null
}

/** The addresses that need a confirmation, and for which no link was requested yet. */
export async function findNewTargets(
  db: Queryable,
  workspaceId: string,
  addresses: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await db.query<{ address: string }>(
    sql`
      SELECT DISTINCT lower(t.address) AS address
      FROM unnest($2::text[]) AS t (address)
      WHERE NOT ${isOwnTarget('$1::uuid', 't.address')}
        AND NOT EXISTS (SELECT FROM forward_addresses f WHERE f.workspace_id = $1 AND f.address = lower(t.address))
    `,
    [workspaceId, addresses],
  )
  return rows.map(({ address }) => address)
}
