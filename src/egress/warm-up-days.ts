/**
 * What warming sources sent and may still send, by receiver and day. The amount of a day is handed out to outbound processes in blocks, by
 * one guarded UPDATE, so that all of them together never exceed it whatever dies; a process that is killed takes the rest of its block
 * with it. How receivers answered is counted in batches; what was not written yet is lost with the process.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { stepOf, type Day, type DayRecord } from './warm-up.ts'

export interface DayKey {
  readonly sourceId: string
  readonly receiver: string
  readonly day: Day
}

const LAST = prepared(
  'egress-day-last',
  sql`
    SELECT day::text AS day, step, sent, throttled, complaints
    FROM egress_days
    WHERE source_id = $1 AND receiver = $2 AND day <= $3::date
    ORDER BY day DESC
    LIMIT 1
  `,
)

const OPEN = prepared(
  'egress-day-open',
  sql`
    INSERT INTO egress_days (source_id, receiver, day, step)
    SELECT id, $2, $3::date, $4
    FROM egress_sources
    WHERE id = $1
    ON CONFLICT (source_id, receiver, day) DO NOTHING
  `,
)

/** The step of the day, which is opened by whoever asks first; two at once come to the same. Null: the source was removed. */
export async function openDay(db: Queryable, key: DayKey, schedule: readonly number[]): Promise<number | null> {
  const before = await readLast(db, key)
  if (before?.day === key.day) return before.step
  await db.query(OPEN, [key.sourceId, key.receiver, key.day, stepOf(key.day, before, schedule)])
  const now = await readLast(db, key)
  return now?.day === key.day ? now.step : null
}

async function readLast(db: Queryable, { sourceId, receiver, day }: DayKey): Promise<DayRecord | null> {
  return (await db.query<DayRecord>(LAST, [sourceId, receiver, day])).rows[0] ?? null
}

const TAKE = prepared(
  'egress-day-take',
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

/** Takes up to `wanted` of the day's `amount`; how many it got. */
export async function takeOfDay(
  db: Queryable,
  { sourceId, receiver, day }: DayKey,
  wanted: number,
  amount: number,
): Promise<number> {
  const {
    rows: [row],
  } = await db.query<{ granted: number }>(TAKE, [sourceId, receiver, day, wanted, amount])
  return row?.granted ?? 0
}

const RETURN = prepared(
  'egress-day-return',
  sql`
    UPDATE egress_days
    SET taken = greatest(0, taken - $4)
    WHERE source_id = $1 AND receiver = $2 AND day = $3::date
  `,
)

/** Gives back what was not used. */
export async function returnToDay(db: Queryable, { sourceId, receiver, day }: DayKey, count: number): Promise<void> {
  await db.query(RETURN, [sourceId, receiver, day, count])
}

export interface DayCount extends DayKey {
  readonly sent: number
  readonly throttled: number
}

const COUNT = prepared(
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

export async function countDays(db: Queryable, counts: readonly DayCount[]): Promise<void> {
  if (counts.length === 0) return
  await db.query(
    COUNT,
    columnsOf(counts, [(c) => c.sourceId, (c) => c.receiver, (c) => c.day, (c) => c.sent, (c) => c.throttled]),
  )
}

/** By which warming source each mail went, and to whose server. */
const SENT_BY = prepared(
  'egress-complaints-find',
  sql`
    SELECT s.id AS "sourceId", a.host, r.domain
    FROM unnest($1::uuid[], $2::smallint[]) AS i (message_id, n)
    JOIN attempts a ON a.message_id = i.message_id AND a.n = i.n AND a.outcome IN ('delivered', 'unknown')
    JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n
    JOIN egress_sources s ON s.name = a.source AND s.warming_since IS NOT NULL
  `,
)

interface SentBy {
  readonly sourceId: string
  readonly host: string | null
  readonly domain: string
}

const COMPLAIN = prepared(
  'egress-complaints-count',
  sql`
    UPDATE egress_days d
    SET complaints = complaints + 1
    WHERE d.source_id = $1
      AND d.receiver = $2
      AND d.day = (SELECT max(day) FROM egress_days WHERE source_id = $1 AND receiver = $2)
  `,
)

/** Complaints about mails came in: each counts against the source that sent it, on the last day it sent there. A warm one counts none. */
export async function countComplaints(
  db: Queryable,
  mails: readonly { readonly messageId: string; readonly n: number }[],
): Promise<void> {
  if (mails.length === 0) return
  const { rows } = await db.query<SentBy>(SENT_BY, columnsOf(mails, [(m) => m.messageId, (m) => m.n]))
  // in one order, so that two batches cannot deadlock
  const against = rows.map(({ sourceId, host, domain }) => [sourceId, receiverOf(host, domain)] as const)
  for (const key of against.toSorted(([a, b], [c, d]) => (a === c ? compare(b, d) : compare(a, c))))
    await db.query(COMPLAIN, key)
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

const END = sql`
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

/** Ends the warm-ups whose schedule is over and that held back nothing for a week. The names of the sources. */
export async function endWarmUps(db: Queryable, schedule: readonly number[], now: Date): Promise<string[]> {
  return (await db.query<{ name: string }>(END, [now, schedule.length, schedule])).rows.map(({ name }) => name)
}
