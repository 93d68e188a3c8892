/**
 * Claims domains whose DNS check or registration lookup is due. A claim moves the due time forward by more than a check
 * takes, so two workers never check the same domain, and a worker that dies only delays it. Manual checks of one domain
 * run at most once in two seconds, however many clients request them.
 */
import type { Context } from '#src/context.ts'
import { sql } from '#src/stores/sql.ts'

/** Far longer than a DNS check can take: every query has a timeout. */
const CLAIM_TTL_MS = 5 * 60_000
/** A client that polls faster gets the result of the last check. */
const MIN_INTERVAL_MS = 2000

type ClaimContext = Pick<Context, 'db' | 'clock'>

/**
 * Claims up to `limit` domains whose check is due, longest due first. The caller checks each; if it dies they are due
 * again in minutes.
 */
export async function claimChecks(
  { db, clock }: ClaimContext,
  limit: number,
): Promise<{ id: string; workspaceId: string }[]> {
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
    [new Date(now), new Date(now + CLAIM_TTL_MS), limit],
  )
  return rows
}

/** Starts a manual check. False if one started a moment ago. */
export async function startManualCheck({ db, clock }: ClaimContext, id: string): Promise<boolean> {
  const now = clock.now()
  // a start time in the future comes from a wrong clock: it must not block checks
  const { rowCount } = await db.query(
    sql`
      UPDATE domains
      SET check_begun_at = $2
      WHERE id = $1 AND (check_begun_at IS NULL OR check_begun_at NOT BETWEEN $3 AND $2)
    `,
    [id, new Date(now), new Date(now - MIN_INTERVAL_MS)],
  )
  return rowCount === 1
}

/** Claims up to `limit` domains whose registration lookup is due. */
export async function claimRegistrations(
  { db, clock }: ClaimContext,
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
    [new Date(now), new Date(now + CLAIM_TTL_MS), limit],
  )
  return rows
}
