/**
 * Waiting recipients as entries of the schedule, for a refill. PostgreSQL writes the text, in the form that the script
 * of the refill reads (src/queue/refill-progress.ts): rows would cost the worker five times the CPU.
 */
import type { Db } from '#src/stores/db.ts'
import { MEMBER_SQL } from '#src/queue/keys.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { suspendedByOwner } from '#src/queue/suspensions.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import type { Weeks } from '#src/stores/weeks.ts'
import {
  BY_INDEX,
  DUE_MICROS,
  sliceOfWaiting,
  sliceValues,
  WAITING_COLUMNS,
  type Cursor,
  type WaitingSlice,
} from './open-recipients.ts'

/** A slice of waiting recipients as entries of the schedule. */
export interface WaitingEntries {
  readonly count: number
  /** Of each recipient one line: `<due ms> <member>` and a line feed. */
  readonly entries: string
  /** The earliest due time, epoch ms; null if there is none. */
  readonly firstMs: number | null
  /** Null after the last. */
  readonly next: Cursor | null
}

interface EntriesRow {
  readonly count: number
  readonly entries: string | null
  readonly first_ms: number | null
  readonly due_micros: string | null
  readonly message_id: string
  readonly n: number
}

/** As `readWaiting`, of all due times. */
export async function readWaitingEntries(
  db: Pick<Db, 'query' | 'snapshot'>,
  tier: Tier,
  { cursor, limit }: Omit<WaitingSlice, 'owner'>,
): Promise<WaitingEntries> {
  const weeks = await readOpenWeeks(db)
  const { rows } = await db.snapshot(
    (tx) => tx.query<EntriesRow>(entriesOfWaiting(weeks), sliceValues({ tier, until: 'infinity', cursor, limit })),
    BY_INDEX,
  )
  const { count, entries, first_ms, due_micros, message_id, n } = rows[0] ?? NO_ENTRIES
  return {
    count,
    entries: entries ?? '',
    firstMs: first_ms,
    next: due_micros === null ? null : { dueMicros: due_micros, messageId: message_id, n },
  }
}

const NO_ENTRIES: EntriesRow = { count: 0, entries: null, first_ms: null, due_micros: null, message_id: '', n: 0 }

/** The last recipient of a full slice is the cursor. Float8, since numeric costs more. */
function entriesOfWaiting(weeks: Weeks): string {
  return sql`
    WITH slice AS MATERIALIZED (
      SELECT due_at, message_id, n, due_ms, due_ms || ' ' || ${MEMBER_SQL} || chr(10) AS entry, is_held
      FROM (
        SELECT ${WAITING_COLUMNS}, round(date_part('epoch', due_at) * 1000)::bigint AS due_ms,
          ${suspendedByOwner('now()')} AS is_held
        FROM (${sliceOfWaiting(weeks, undefined)}) r
      ) d
    ), last AS (
      SELECT ${DUE_MICROS} AS due_micros, message_id, n
      FROM (SELECT due_at, message_id, n FROM slice OFFSET $6::int - 1 LIMIT 1) l
    )
    SELECT s.*, last.*
    FROM (
      SELECT count(*) AS count, min(due_ms) AS first_ms, string_agg(entry, '') AS entries
      FROM slice
      WHERE NOT is_held
    ) s
    LEFT JOIN last ON true
  `
}
