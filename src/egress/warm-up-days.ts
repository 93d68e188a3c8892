/**
 * Daily warm-up allowances: how much a source in warm-up sent and may still send, by receiver and day. Outbound
 * processes claim the allowance in blocks by a guarded UPDATE, so that together they never exceed it; a process that is
 * killed loses the rest of its block. Replies are counted in batches; counts that are not yet written are lost with the
 * process.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly } from '#src/stores/weeks.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { stepOf, type UtcDay, type WarmUpDay } from './warm-up.ts'

export interface DayKey {
  readonly sourceId: string
  readonly receiver: string
  readonly day: UtcDay
}

const LAST_DAY = prepared(
  'egress-day-last',
  sql`
    SELECT day::text AS day, step, sent, throttled, complaints
    FROM egress_days
    WHERE source_id = $1 AND receiver = $2 AND day <= $3::date
    ORDER BY day DESC
    LIMIT 1
  `,
)

const OPEN_DAY = prepared(
  'egress-day-open',
  sql`
    INSERT INTO egress_days (source_id, receiver, day, step)
    SELECT id, $2, $3::date, $4
    FROM egress_sources
    WHERE id = $1
    ON CONFLICT (source_id, receiver, day) DO NOTHING
  `,
)

/**
 * The step of the day. The first caller opens the day; concurrent callers get the same step. Null: the source was
 * removed.
 */
export async function openDay(db: Queryable, key: DayKey, schedule: readonly number[]): Promise<number | null> {
  const last = await readLastDay(db, key)
  if (last?.day === key.day) return last.step
  await db.query(OPEN_DAY, [key.sourceId, key.receiver, key.day, stepOf(key.day, last, schedule)])
  const opened = await readLastDay(db, key)
  return opened?.day === key.day ? opened.step : null
}

async function readLastDay(db: Queryable, { sourceId, receiver, day }: DayKey): Promise<WarmUpDay | null> {
  return (await db.query<WarmUpDay>(LAST_DAY, [sourceId, receiver, day])).rows[0] ?? null
}

const CLAIM_ALLOWANCE = prepared(
  'egress-day-claim',
  sql`
    WITH old AS (
      SELECT taken
      FROM egress_days
      WHERE source_id = $1 AND receiver = $2 AND day = $3::date
      FOR UPDATE
    )
    UPDATE egress_days d
    SET taken = greatest(old.taken, least(old.taken + $4, $5))
    FROM old
    WHERE d.source_id = $1 AND d.receiver = $2 AND d.day = $3::date
    RETURNING d.taken - old.taken AS granted
  `,
)

/** Claims up to `requested` of the day's `amount`; returns how many were granted. */
export async function claimAllowance(
  db: Queryable,
  { sourceId, receiver, day }: DayKey,
  requested: number,
  amount: number,
): Promise<number> {
  const {
    rows: [row],
  } = await db.query<{ granted: number }>(CLAIM_ALLOWANCE, [sourceId, receiver, day, requested, amount])
  return row?.granted ?? 0
}

const RETURN_ALLOWANCE = prepared(
  'egress-day-return',
  sql`
    UPDATE egress_days
    SET taken = greatest(0, taken - $4)
    WHERE source_id = $1 AND receiver = $2 AND day = $3::date
  `,
)

/** Returns the part that was not used. */
export async function returnAllowance(
  db: Queryable,
  { sourceId, receiver, day }: DayKey,
  count: number,
): Promise<void> {
  await db.query(RETURN_ALLOWANCE, [sourceId, receiver, day, count])
}

export interface DayCount extends DayKey {
  readonly sent: number
  readonly throttled: number
}

const COUNT_REPLIES = prepared(
  'egress-day-count',
  sql`
    UPDATE egress_days d
    SET sent = d.sent + i.sent, throttled = d.throttled + i.throttled
    FROM unnest($1::uuid[], $2::text[], $3::date[], $4::integer[], $5::integer[]) AS i (
      source_id, receiver, day, sent, throttled
    )
    WHERE d.source_id = i.source_id AND d.receiver = i.receiver AND d.day = i.day
  `,
)

export async function countReplies(db: Queryable, counts: readonly DayCount[]): Promise<void> {
  if (counts.length === 0) return
  await db.query(
    COUNT_REPLIES,
    columnsOf(counts, [(c) => c.sourceId, (c) => c.receiver, (c) => c.day, (c) => c.sent, (c) => c.throttled]),
  )
}

/** The warming source that each message left through, and the receiver it went to. */
const SENT_BY = weekly(
  'egress-complaints-find',
  (weeks) => sql`
    SELECT s.id AS "sourceId", a.host, r.domain
    FROM unnest($1::uuid[], $2::smallint[]) AS i (message_id, n)
    JOIN attempts a ON a.message_id = i.message_id AND a.n = i.n AND a.outcome IN ('delivered', 'unknown')
    JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n
    JOIN egress_sources s ON s.name = a.source AND s.warming_since IS NOT NULL
    WHERE ${expectOneRow('i.n')} AND ${weeks.contain('a.message_id')} AND ${weeks.contain('r.message_id')}
  `,
)

interface SentBy {
  readonly sourceId: string
  readonly host: string | null
  readonly domain: string
}

const COUNT_COMPLAINT = prepared(
  'egress-complaints-count',
  sql`
    UPDATE egress_days d
    SET complaints = complaints + 1
    WHERE d.source_id = $1
      AND d.receiver = $2
      AND d.day = (SELECT max(day) FROM egress_days WHERE source_id = $1 AND receiver = $2)
  `,
)

/**
 * Counts complaints against the source that sent each message, on the last day it sent to that receiver. A source that
 * is not in warm-up counts none.
 */
export async function countComplaints(
  db: Queryable,
  messages: readonly { readonly messageId: string; readonly n: number }[],
): Promise<void> {
  if (messages.length === 0) return
  const { rows } = await db.query<SentBy>(
    SENT_BY.for(messages.map(({ messageId }) => messageId)),
    columnsOf(messages, [(m) => m.messageId, (m) => m.n]),
  )
  // in a fixed order, so that two batches cannot deadlock
  const keys = rows.map(({ sourceId, host, domain }) => [sourceId, receiverOf(host, domain)] as const)
  for (const key of keys.toSorted(([a, b], [c, d]) => (a === c ? compare(b, d) : compare(a, c))))
    await db.query(COUNT_COMPLAINT, key)
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

const END_WARM_UPS = sql`
  UPDATE egress_sources s
  SET warming_since = NULL
  WHERE warming_since < $1::timestamptz - $2 * interval '1 day'
    AND NOT EXISTS (
      SELECT FROM egress_days d
      WHERE d.source_id = s.id
        AND d.day > ($1::timestamptz AT TIME ZONE 'UTC')::date - 7
        AND d.step < $2
        AND d.taken >= ($3::integer[])[d.step + 1]
    )
  RETURNING name
`

/** Ends warm-ups whose schedule is over and that delayed nothing for a week. Returns the names of the sources. */
export async function endWarmUps(db: Queryable, schedule: readonly number[], now: Date): Promise<string[]> {
  return (await db.query<{ name: string }>(END_WARM_UPS, [now, schedule.length, schedule])).rows.map(({ name }) => name)
}
