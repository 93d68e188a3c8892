/** Checks the age of what is stored: mail that should have been sent, and the oldest facts. */
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { LATE_MS, readOverdue } from '#src/retention/overdue.ts'
import { defaultPeriods } from '#src/retention/periods.ts'
import { listWeeks } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { failed, ok, warning } from './check.ts'
import { withDb } from './stores.ts'
import { countText } from '#src/platform/plural.ts'

const DAY_MS = 86_400_000
/** When mail that is due and was not attempted is late, in seconds; bulk mail waits for its turn. */
const LATE_SECONDS: Readonly<Record<string, number>> = { instant: 60, high: 300, normal: 3600, bulk: 86_400 }
const VERY_LATE = 10

export const QUEUE_AGE = withDb('queue age', async (db) => {
  const weeks = await readOpenWeeks(db)
  const { rows } = await db.query<{ tier: string; seconds: number }>(
    sql`
      SELECT t.tier, greatest(0, extract(epoch FROM now() - o.due_at))::float AS seconds
      FROM unnest($1::text[]) AS t (tier)
      JOIN LATERAL (
        SELECT due_at
        FROM recipients
        WHERE is_open AND tier = t.tier AND ${weeks.contain('message_id')}
        ORDER BY due_at
        LIMIT 1
      ) o ON true
    `,
    [TIER_NAMES],
  )
  const late = rows.filter(({ tier, seconds }) => seconds > (LATE_SECONDS[tier] ?? Infinity))
  if (late.length === 0) return ok('no mail is late')
  const text = late.map(({ tier, seconds }) => `${tier} mail has been due for ${durationText(seconds)}`).join('; ')
  const todo = 'mailstead queue status shows what holds it; mailstead explain ID shows why for one message'
  const isBad = late.some(({ tier, seconds }) => seconds > VERY_LATE * (LATE_SECONDS[tier] ?? Infinity))
  return (isBad ? failed : warning)(text, todo)
})

function durationText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? countText(Math.round(seconds / 60), 'minute') : countText(Math.round(seconds / 3600), 'hour')
}

export const RETENTION = withDb('retention', async (db, { config }) => {
  const [oldest] = await listWeeks(db, 'messages')
  if (oldest === undefined) return ok('no messages are stored')
  const overdue = await readOverdue(db, defaultPeriods(config), db.clock.now())
  const late = overdue.filter(({ lateMs }) => lateMs > LATE_MS)
  if (late.length === 0)
    return ok(`the oldest partition of messages begins ${new Date(oldest).toISOString().slice(0, 10)}`)
  const text = late.map(
    ({ what, lateMs }) => `${what} should have been deleted ${countText(Math.floor(lateMs / DAY_MS), 'day')} ago`,
  )
  return warning(text.join('; '), 'check that a worker runs, and its log; mailstead retention list shows all')
})
