/**
 * Daily limits of the public forms: of an audience, of a workspace, and of growth. A form that gets far more than it
 * got in the two weeks before stops for the day, because a flood of other people's addresses looks like that. Days are
 * of UTC, counted in PostgreSQL, so a restart and a loss of Redis forget nothing. What is refused is not counted: an
 * attacker can neither raise tomorrow's limit nor use up the limit of another form. Two processes at the same time wait
 * for each other's row.
 */
import type { Config } from '#config/load.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { SubscribeForm } from './form.ts'

export type DailyLimit =
  | { readonly kind: 'growth'; readonly limit: number; readonly mean: number }
  | { readonly kind: 'audience' | 'workspace'; readonly limit: number }

type LimitSettings = Pick<
  Config,
  'subscribesPerAudience' | 'subscribesPerWorkspace' | 'subscribeGrowthFactor' | 'subscribeGrowthMinimum'
>

/** Days before today that a form is compared with. */
const COMPARED_DAYS = 14

const MEAN = sql`
  SELECT coalesce(sum(submissions), 0)::float8 / ${COMPARED_DAYS} AS mean
  FROM subscribe_days
  WHERE subject = $1 AND day >= $2::date - ${COMPARED_DAYS} AND day < $2::date
`
const COUNT = sql`
  INSERT INTO subscribe_days AS d (subject, day, submissions)
  VALUES ($1, $2, 1)
  ON CONFLICT (subject, day)
  DO UPDATE SET submissions = d.submissions + 1
  WHERE d.submissions < $3
`
const UNCOUNT = 'UPDATE subscribe_days SET submissions = submissions - 1 WHERE subject = $1 AND day = $2'

/** Counts a submission; or returns the limit that is reached, and counts nothing. */
export function countSubmission(
  ctx: { readonly db: Db; readonly config: LimitSettings },
  { audienceId, workspaceId }: Pick<SubscribeForm, 'audienceId' | 'workspaceId'>,
  now: Date,
): Promise<DailyLimit | null> {
  const { subscribesPerAudience, subscribesPerWorkspace, subscribeGrowthFactor, subscribeGrowthMinimum } = ctx.config
  const day = now.toISOString().slice(0, 10)
  return ctx.db.transaction(async (tx) => {
    const { rows } = await tx.query<{ mean: number }>(MEAN, [audienceId, day])
    const mean = rows[0]?.mean ?? 0
    const growth = Math.max(subscribeGrowthMinimum, Math.floor(mean * subscribeGrowthFactor))
    const ofAudience = Math.min(growth, subscribesPerAudience)
    if (!(await count(tx, audienceId, day, ofAudience)))
      return growth < subscribesPerAudience
        ? { kind: 'growth', limit: growth, mean }
        : { kind: 'audience', limit: subscribesPerAudience }
    if (await count(tx, workspaceId, day, subscribesPerWorkspace)) return null
    await tx.query(UNCOUNT, [audienceId, day])
    return { kind: 'workspace', limit: subscribesPerWorkspace }
  })
}

async function count(tx: Queryable, subject: string, day: string, limit: number): Promise<boolean> {
  return (await tx.query(COUNT, [subject, day, limit])).rowCount === 1
}

/** Seconds until the next day, at least 1. */
export function secondsUntilTomorrow(now: Date): number {
  return Math.ceil((Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1) - now.getTime()) / 1000)
}

export function describeDailyLimit(limit: DailyLimit): string {
  if (limit.kind !== 'growth') return `${limit.limit} submissions a day of one ${limit.kind} are reached`
  return `${limit.limit} submissions today, and ${limit.mean.toFixed(1)} a day in the two weeks before`
}
