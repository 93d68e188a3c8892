/**
 * Addresses outside of a workspace that its routes may forward to once their owner confirms it. A request stores that a
 * link is due; the worker sends it, so a process that dies in between loses none. A link is used once; a newer one
 * replaces it. Mails are limited for each address, in all workspaces together, and for each workspace: nobody can use
 * routes to send mail to strangers. Two requests at once for one workspace come one after the other.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const LINK_DAYS = 7
const CONFIRMATION_LIMITS = { minutesBetween: 10, perDay: 3, perDayOfAddress: 5, perDayOfWorkspace: 20 }

/** `too-soon`, `too-many`: of the limits. */
export type ConfirmationRequest = 'requested' | 'confirmed' | 'too-soon' | 'too-many'

const COUNTS = sql`
  SELECT count(*) FILTER (WHERE f.address = lower($2))::int AS "ofAddress",
    count(*) FILTER (WHERE f.workspace_id = $1)::int AS "ofWorkspace",
    count(*) FILTER (WHERE f.workspace_id = $1 AND f.address = lower($2))::int AS "ofBoth",
    coalesce(bool_or(m.at > now() - make_interval(mins => $3)) FILTER (
      WHERE f.workspace_id = $1 AND f.address = lower($2)
    ), false) AS "isRecent"
  FROM forward_addresses f
  CROSS JOIN LATERAL (
    SELECT unnest(f.mailed_at) AS at
    UNION ALL
    SELECT f.mail_due_at
    WHERE f.mail_due_at IS NOT NULL
  ) m
  WHERE (f.workspace_id = $1 OR f.address = lower($2)) AND m.at > now() - interval '1 day'
`

interface Counts {
  readonly ofAddress: number
  readonly ofWorkspace: number
  readonly ofBoth: number
  readonly isRecent: boolean
}

/** Makes a link to the address due. */
export function requestConfirmation(
  db: Db,
  workspaceId: string,
  { address, routeAddress }: { readonly address: string; readonly routeAddress: string },
): Promise<ConfirmationRequest> {
  return db.transaction(async (tx) => {
    await tx.query('SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId])
    const { rows } = await tx.query<{ confirmedAt: Date | null }>(
      `SELECT confirmed_at AS "confirmedAt" FROM forward_addresses WHERE workspace_id = $1 AND address = lower($2)`,
      [workspaceId, address],
    )
    if ((rows[0]?.confirmedAt ?? null) !== null) return 'confirmed'
    const limits = CONFIRMATION_LIMITS
    const counts = await tx.query<Counts>(COUNTS, [workspaceId, address, limits.minutesBetween])
    const { ofAddress, ofWorkspace, ofBoth, isRecent } = counts.rows[0] as Counts
    if (isRecent) return 'too-soon'
    const isOver = ofBoth >= limits.perDay || ofAddress >= limits.perDayOfAddress
    if (isOver || ofWorkspace >= limits.perDayOfWorkspace) return 'too-many'
    await tx.query(
      sql`
        INSERT INTO forward_addresses (workspace_id, address, route_address, mail_due_at)
        VALUES ($1, lower($2), $3, now())
        ON CONFLICT (workspace_id, address)
        DO UPDATE SET mail_due_at = now(), requested_at = now(), route_address = excluded.route_address
      `,
      [workspaceId, address, routeAddress],
    )
    return 'requested'
  })
}

export interface DueConfirmation {
  readonly workspaceId: string
  readonly address: string
  readonly routeAddress: string
  /** The verified domain of the route. */
  readonly domainId: string
  readonly domain: string
}

/**
 * Claims links to send; one whose mail is not reported as sent is due again after five minutes. Those whose route or
 * domain is gone are dropped.
 */
export async function claimConfirmations(db: Queryable, limit: number): Promise<DueConfirmation[]> {
  const { rows } = await db.query<DueConfirmation & { domainId: string | null }>(
    sql`
      WITH due AS (
        SELECT f.workspace_id, f.address, d.id AS domain_id, d.domain
        FROM forward_addresses f
        LEFT JOIN domains d ON d.workspace_id = f.workspace_id
          AND d.domain = lower(substring(f.route_address FROM '[^@]*$'))
          AND d.verification_status IN ('verified', 'degraded')
        WHERE f.mail_due_at <= now()
        ORDER BY f.mail_due_at
        LIMIT $1
        FOR UPDATE OF f SKIP LOCKED
      )
      UPDATE forward_addresses f
      SET mail_due_at = CASE WHEN due.domain_id IS NULL THEN NULL ELSE now() + interval '5 minutes' END
      FROM due
      WHERE f.workspace_id = due.workspace_id AND f.address = due.address
      RETURNING f.workspace_id AS "workspaceId", f.address, f.route_address AS "routeAddress",
        due.domain_id AS "domainId", due.domain
    `,
    [limit],
  )
  return rows.filter(({ domainId }) => domainId !== null)
}

/** Stores the hash of a link before it is mailed. */
export async function storeLink(db: Queryable, due: DueConfirmation, tokenHash: Buffer): Promise<void> {
  await db.query(
    sql`
      UPDATE forward_addresses
      SET token_hash = $3, expires_at = now() + make_interval(days => $4)
      WHERE workspace_id = $1 AND address = $2 AND confirmed_at IS NULL
    `,
    [due.workspaceId, due.address, tokenHash, LINK_DAYS],
  )
}

export async function markMailed(db: Queryable, { workspaceId, address }: DueConfirmation): Promise<void> {
  await db.query(
    sql`
      UPDATE forward_addresses
      SET mail_due_at = NULL, mailed_at = (ARRAY[now()] || mailed_at)[1:10]
      WHERE workspace_id = $1 AND address = $2
    `,
    [workspaceId, address],
  )
}

export interface LinkedAddress {
  readonly workspaceId: string
  readonly address: string
  readonly routeAddress: string
}

/** Null if the link is unknown, used, replaced or too old. */
export async function findLinkedAddress(db: Queryable, tokenHash: Buffer): Promise<LinkedAddress | null> {
  const { rows } = await db.query<LinkedAddress>(
    sql`
      SELECT workspace_id AS "workspaceId", address, route_address AS "routeAddress"
      FROM forward_addresses
      WHERE token_hash = $1 AND expires_at > now() AND confirmed_at IS NULL
    `,
    [tokenHash],
  )
  return rows[0] ?? null
}

/** False if another request was first, or the link is no longer valid. */
export async function confirmAddress(db: Queryable, tokenHash: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    sql`
      UPDATE forward_addresses
      SET confirmed_at = now(), token_hash = NULL, mail_due_at = NULL
      WHERE token_hash = $1 AND expires_at > now() AND confirmed_at IS NULL
    `,
    [tokenHash],
  )
  return rowCount === 1
}

/** SQL: deletes addresses that no route names any more. */
export const DELETE_UNUSED_ADDRESSES = sql`
  DELETE FROM forward_addresses f
  WHERE f.requested_at < now() - interval '30 days'
    AND NOT EXISTS (
      SELECT
      FROM inbound_routes r
      CROSS JOIN unnest(r.forward_to) AS t (address)
      WHERE r.workspace_id = f.workspace_id AND lower(t.address) = f.address
    )
`
