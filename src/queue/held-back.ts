/**
 * Campaigns that wait until the installation is complete (src/going-live/): suspensions with a reason of their own,
 * which end by themselves. A suspension by the operator replaces the reason, and stays.
 */
import type { Context } from '#src/context.ts'
import { sql } from '#src/stores/sql.ts'
import { publishSuspensions, resumeStatement } from './suspensions.ts'

/** Prefix of the reasons. */
export const HELD_BACK_PREFIX = 'held back: '

const END_HELD_BACK = sql`
  UPDATE campaigns
  SET reason = NULL
  WHERE is_open AND starts_with(reason, '${HELD_BACK_PREFIX}')
`

/** Resumes the campaigns that were held back. If the process dies in between, the next call clears the reasons. */
export async function resumeHeldBack(ctx: Pick<Context, 'db' | 'redis'>): Promise<void> {
  const { rowCount } = await ctx.db.query(
    resumeStatement(`kind = 'campaign' AND starts_with(reason, '${HELD_BACK_PREFIX}')`),
  )
  await ctx.db.query(END_HELD_BACK)
  if (rowCount !== null && rowCount > 0) await publishSuspensions(ctx)
}
