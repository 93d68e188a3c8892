/** Checks the age of what is stored: mail that should have been sent, and the oldest facts. */
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { LATE_MS, readOverdue } from '#src/retention/overdue.ts'
import { defaultPeriods } from '#src/retention/periods.ts'
import { listWeeks } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { failed, ok, warning } from './check.ts'
import { withDb } from './stores.ts'
import type { CodedText } from '#src/platform/coded-text.ts'
import { joinSaid } from '#src/platform/finding-text.ts'
import { doctorText } from './finding-texts.ts'

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
  if (late.length === 0) return ok(doctorText('queue_in_time'))
  const text = joinSaid(late.map(({ tier, seconds }) => lateText(tier, seconds)))
  const todo = doctorText('queue_todo')
  const isBad = late.some(({ tier, seconds }) => seconds > VERY_LATE * (LATE_SECONDS[tier] ?? Infinity))
  return (isBad ? failed : warning)(text, todo)
})

function lateText(tier: string, seconds: number): CodedText {
  if (seconds < 120) return doctorText('queue_seconds', { tier, seconds: Math.round(seconds) })
  return seconds < 7200
    ? doctorText('queue_minutes', { tier, minutes: Math.round(seconds / 60) })
    : doctorText('queue_hours', { tier, hours: Math.round(seconds / 3600) })
}

export const RETENTION = withDb('retention', async (db, { config }) => {
  const [oldest] = await listWeeks(db, 'messages')
  if (oldest === undefined) return ok(doctorText('nothing_stored'))
  const overdue = await readOverdue(db, defaultPeriods(config), db.clock.now())
  const late = overdue.filter(({ lateMs }) => lateMs > LATE_MS)
  if (late.length === 0)
    return ok(doctorText('oldest_partition', { date: new Date(oldest).toISOString().slice(0, 10) }))
  const texts = late.map(({ what, lateMs }) => doctorText('overdue', { what, days: Math.floor(lateMs / DAY_MS) }))
  return warning(joinSaid(texts), doctorText('overdue_todo'))
})
