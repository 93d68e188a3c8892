/**
 * Holds campaigns back while something fails that a mail to strangers needs: links that lead nowhere, or an address
 * that receivers refuse. A campaign that is held back is suspended with the reason, so its queued messages wait too,
 * and `explain`, `queue status` and the campaign itself show why. It goes on by itself when the check passes.
 *
 * Before the first check of a live installation nothing is known, and campaigns wait for it. If the process dies after
 * it held a campaign back, the next round of any worker lets it go. A hold and a release at once may hold a campaign
 * for one more round.
 */
import type { Config } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { HELD_BACK_PREFIX, resumeHeldBack } from '#src/queue/held-back.ts'
import { publishSuspensions } from '#src/queue/suspensions.ts'
import { findDeadLinks } from './public-urls.ts'
import { readStoredHold } from './store.ts'

export type CampaignHold =
  | { readonly kind: 'none' }
  /** The first check has not ended yet. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'held'; readonly reason: string }

export async function readCampaignHold(db: Queryable, config: Config): Promise<CampaignHold> {
  if (config.isSandbox) return { kind: 'none' }
  const dead = findDeadLinks(config)
  if (!config.isLive) return dead === null ? { kind: 'none' } : { kind: 'held', reason: dead.detail }
  const { isChecked, reason } = await readStoredHold(db)
  const reasons = [...(dead === null ? [] : [`public URLs: ${dead.detail}`]), ...(reason === null ? [] : [reason])]
  if (reasons.length > 0) return { kind: 'held', reason: [...new Set(reasons)].join('; ') }
  return isChecked ? { kind: 'none' } : { kind: 'waiting' }
}

/**
 * Suspends the campaigns of `open` (id) with the reason $1. What the operator suspended at the same moment stays as it
 * is: a hold may replace only an earlier one, or a suspension that has expired, because it ends by itself.
 */
const HOLD = sql`
  held AS (
    INSERT INTO suspensions AS s (kind, subject, reason, scope)
    SELECT 'campaign', id::text, $1, 'mail'
    FROM open
    ON CONFLICT (kind, subject)
    DO UPDATE SET reason = excluded.reason, until = NULL, scope = excluded.scope
    WHERE s.until <= now() OR starts_with(s.reason, '${HELD_BACK_PREFIX}')
    RETURNING subject
  )
  UPDATE campaigns k
  SET reason = $1
  FROM held
  WHERE k.id = held.subject::uuid
`

const HOLD_ONE = sql`WITH open AS (SELECT $2::uuid AS id), ${HOLD}`

/** In the transaction of a campaign's step. Processes need no notice: they do not claim mail of such a campaign. */
export async function holdCampaign(tx: Queryable, id: string, reason: string): Promise<void> {
  await tx.query(HOLD_ONE, [`${HELD_BACK_PREFIX}${reason}`, id])
}

const HOLD_OPEN = sql`
  WITH open AS (
    SELECT k.id
    FROM campaigns k
    WHERE k.is_open
      AND k.status IN ('SENDING', 'SENT')
      AND NOT EXISTS (
        SELECT FROM suspensions s
        WHERE s.kind = 'campaign' AND s.subject = k.id::text AND (s.until IS NULL OR s.until > now())
      )
    FOR UPDATE OF k SKIP LOCKED
  ),
  ${HOLD}
`

/** Brings all open campaigns in line: holds those that send while something fails, or lets those go that were held. */
export async function applyCampaignHold(ctx: Pick<Context, 'db' | 'redis' | 'config'>): Promise<void> {
  const hold = await readCampaignHold(ctx.db, ctx.config)
  if (hold.kind === 'waiting') return
  if (hold.kind === 'none') {
    await resumeHeldBack(ctx)
    return
  }
  const { rowCount } = await ctx.db.query(HOLD_OPEN, [`${HELD_BACK_PREFIX}${hold.reason}`])
  if (rowCount !== null && rowCount > 0) await publishSuspensions(ctx)
}
