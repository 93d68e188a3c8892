/** Checks the age of what is stored: mail that should have been sent, and the oldest facts. */
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { listWeeks } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { failed, ok, warning } from './check.ts'
import { withDb } from './stores.ts'

const DAY_MS = 86_400_000
/** When mail that is due and was not attempted is late, in seconds; bulk mail waits for its turn. */
const LATE_SECONDS: Readonly<Record<string, number>> = { instant: 60, high: 300, normal: 3600, bulk: 86_400 }
const VERY_LATE = 10
/** The default of the retention of messages. */
const LONG_DAYS = 400

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
  return seconds < 7200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3600)} hours`
}

export const RETENTION = withDb('retention', async (db) => {
  const [oldest] = await listWeeks(db, 'messages')
  if (oldest === undefined) return ok('no messages are stored')
  const days = Math.max(0, Math.floor((Date.now() - oldest) / DAY_MS))
  const detail = `the oldest partition of messages begins ${new Date(oldest).toISOString().slice(0, 10)}`
  return days <= LONG_DAYS
    ? ok(detail)
    : warning(`${detail}, ${days} days ago`, 'check that retention runs, and the disk space that old mail uses')
})
