/**
 * Replaces the keys of delegated domains by schedule (DKIM_ROTATION_DAYS). A domain is considered once a day: the claim
 * is an UPDATE that skips locked rows, so any number of workers share the domains, and one that dies only delays them.
 * A rotation that is under way is never begun again (`key-rotation.ts`).
 *
 * A domain whose owner has not published the CNAMEs of the other selectors is not rotated: its next key would never be
 * found. Its present key signs on.
 */
import type { Context } from '#src/context.ts'
import { sql } from '#src/stores/sql.ts'
import { freeNames } from './delegated-names.ts'
import { findDomain, type Domain } from './domains.ts'
import { rotateDkimKeys } from './key-rotation.ts'
import { dkimName } from './records.ts'

type ScheduleContext = Pick<Context, 'db' | 'encryption' | 'clock' | 'config'>

const DAY_MS = 24 * 60 * 60_000
/** A round makes few keys, because each costs 0.1 s of a core: 10,000 domains that are due together take a day. */
const PER_ROUND = 8

const CLAIM = sql`
  UPDATE domains
  SET rotation_tried_at = $1
  WHERE id IN (
    SELECT d.id
    FROM dkim_keys k
    JOIN domains d ON d.id = k.domain_id
    WHERE k.state = 'active'
      AND k.algorithm = 'rsa-sha256'
      AND k.state_since < $2
      AND d.dkim_zone IS NOT NULL
      AND d.verification_status = 'verified'
      AND (d.rotation_tried_at IS NULL OR d.rotation_tried_at < $3)
    ORDER BY k.state_since
    LIMIT ${PER_ROUND}
    FOR UPDATE OF d SKIP LOCKED
  )
  RETURNING id, workspace_id AS "workspaceId"
`

/** Begins the rotations that are due. Returns their number. */
export async function rotateDueKeys(ctx: ScheduleContext): Promise<number> {
  const { dkimRotationDays: days } = ctx.config
  if (days === 0) return 0
  const now = ctx.clock.now()
  const { rows } = await ctx.db.query<{ id: string; workspaceId: string }>(CLAIM, [
    new Date(now),
    new Date(now - days * DAY_MS),
    new Date(now - DAY_MS),
  ])
  let begun = 0
  for (const { id, workspaceId } of rows) {
    const domain = await findDomain(ctx.db, workspaceId, id)
    if (domain === null || missingAliases(domain).length > 0) continue
    const db = ctx.db.attributedTo({
      kind: 'schedule',
      name: 'DKIM_ROTATION_DAYS',
      action: 'rotate-dkim',
      workspaceId,
      address: null,
      requestId: null,
    })
    const { kind } = await rotateDkimKeys({ ...ctx, db }, { workspaceId, id })
    if (kind === 'begun') begun += 1
  }
  return begun
}

/** The names of the next RSA key that the last check did not find as a CNAME. */
export function missingAliases({ id, domain, dkimZone, keys, checks }: Domain): string[] {
  if (dkimZone === null) return []
  const found = freeNames({ id, dkimZone }, keys)
  if (found.kind === 'in-use') return []
  const name = dkimName(found.names['rsa-sha256'].selector, domain)
  const isThere = checks?.some((one) => one.name === name && one.status === 'ok') === true
  return isThere ? [] : [name]
}
