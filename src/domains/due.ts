/**
 * Whose turn it is to be looked at. A claim moves the due time on by more than a look takes, so that two workers never take the same
 * domain, and one that dies in between is only late. Asked for by hand, a domain is looked at once in a few seconds, whoever asks.
 */
import type { Context } from '#src/context.ts'
import { sql } from '#src/stores/sql.ts'

/** Far longer than a look at DNS can take: every question ends by itself. */
const CLAIM_MS = 5 * 60_000
/** A client that polls gets the answer of the last look. */
const FRESH_MS = 2000

type Timed = Pick<Context, 'db' | 'clock'>

/** Up to `limit` domains whose check is due, the longest due first; the caller looks at each, or they come again in minutes. */
export async function claimChecks({ db, clock }: Timed, limit: number): Promise<{ id: string; workspaceId: string }[]> {
  const now = clock.now()
  const { rows } = await db.query<{ id: string; workspaceId: string }>(
    sql`
      UPDATE domains
      SET check_due_at = $2, check_begun_at = $1
      WHERE id IN (
        SELECT id
        FROM domains
        WHERE check_due_at <= $1
        ORDER BY check_due_at
        LIMIT $3
        FOR UPDATE SKIP LOCKED
      )
      RETURNING id, workspace_id AS "workspaceId"
    `,
    [new Date(now), new Date(now + CLAIM_MS), limit],
  )
  return rows
}

/** True when the caller is to look now; false when a look has begun a moment ago. */
export async function mayCheck({ db, clock }: Timed, id: string): Promise<boolean> {
  const now = clock.now()
  // a time ahead of ours is of a clock that was wrong: it must not shut the door
  const { rowCount } = await db.query(
    sql`
      UPDATE domains
      SET check_begun_at = $2
      WHERE id = $1 AND (check_begun_at IS NULL OR check_begun_at NOT BETWEEN $3 AND $2)
    `,
    [id, new Date(now), new Date(now - FRESH_MS)],
  )
  return rowCount === 1
}

/** Up to `limit` domains whose registration is to be looked up. */
export async function claimRegistrations(
  { db, clock }: Timed,
  limit: number,
): Promise<{ id: string; domain: string }[]> {
  const now = clock.now()
  const { rows } = await db.query<{ id: string; domain: string }>(
    sql`
      UPDATE domains
      SET registration_due_at = $2
      WHERE id IN (
        SELECT id
        FROM domains
        WHERE registration_due_at <= $1
        ORDER BY registration_due_at
        LIMIT $3
        FOR UPDATE SKIP LOCKED
      )
      RETURNING id, domain
    `,
    [new Date(now), new Date(now + CLAIM_MS), limit],
  )
  return rows
}
