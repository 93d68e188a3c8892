/**
 * Reads open recipients in slices by key, for the worker's loops that maintain the schedule: reconcile, dead leases and
 * unknown outcomes. Only one slice is in memory at a time, and weeks without open recipients are not read.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import type { DueRecipient } from '#src/queue/due-schedule.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { suspendedByOwner } from '#src/queue/suspensions.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly, type Weeks } from '#src/stores/weeks.ts'

interface OpenRow {
  readonly message_id: string
  readonly n: number
  readonly tier: Tier
  readonly workspace_id: string
  readonly domain: string
  readonly due_at: Date
  /** Only in reads with a cursor. */
  readonly due_micros?: string
}

/** The position of a walk by due time. */
export interface Cursor {
  /** Microseconds since 1970 as digits. With milliseconds, a slice of equal times would be read again for ever. */
  readonly dueMicros: string
  readonly messageId: string
  readonly n: number
}

/** SQL expression: the due time of a recipient as in a cursor. */
export const DUE_MICROS = '(extract(epoch FROM due_at) * 1000000)::bigint::text'

/** SQL condition: after a cursor, whose `cursorValues` are the parameters from `first` on. */
export function afterCursor(first: number): string {
  const dueAt = `timestamptz 'epoch' + $${first}::bigint * interval '1 microsecond'`
  return `($${first}::bigint IS NULL OR (due_at, message_id, n) > (${dueAt}, $${first + 1}, $${first + 2}))`
}

export function cursorValues(cursor: Cursor | null): (string | number | null)[] {
  return [cursor?.dueMicros ?? null, cursor?.messageId ?? null, cursor?.n ?? null]
}

/** SQL: the columns of a waiting recipient. */
export const WAITING_COLUMNS = 'message_id, n, workspace_id, tier, domain, due_at'
const WAITING = `is_open AND state IN ('scheduled', 'queued', 'deferred')`

function dueOf(row: OpenRow): DueRecipient {
  return {
    messageId: row.message_id,
    n: row.n,
    workspaceId: row.workspace_id,
    tier: row.tier,
    domain: row.domain,
    dueMs: row.due_at.getTime(),
  }
}

function cursorAfter(rows: readonly OpenRow[], limit: number): Cursor | null {
  const last = rows.at(-1)
  return rows.length < limit || last?.due_micros === undefined
    ? null
    : { dueMicros: last.due_micros, messageId: last.message_id, n: last.n }
}

/** The workspace or campaign that mail belongs to. */
export interface MailOwner {
  readonly kind: 'workspace' | 'campaign'
  readonly id: string
}

export interface WaitingSlice {
  readonly cursor: Cursor | null
  readonly limit: number
  /** Omitted: mail of all owners. */
  readonly owner?: MailOwner
}

/**
 * The index has the order of the walk, so a slice reads just its own rows, however many recipients are due at the same
 * time. Without current statistics, as after the start of a campaign, PostgreSQL would read and sort all rows for each
 * slice.
 */
export const BY_INDEX = ['enable_sort = off', 'enable_bitmapscan = off']

/**
 * The next slice of a tier's waiting recipients that are due before `until`, by due time; `next` is null after the
 * last. Recipients of a suspended workspace or campaign are only counted (`held`): nobody could claim them.
 */
export async function readWaiting(
  db: Pick<Db, 'query' | 'snapshot'>,
  tier: Tier,
  until: Date,
  slice: WaitingSlice,
): Promise<{ due: DueRecipient[]; held: number; next: Cursor | null }> {
  const weeks = await readOpenWeeks(db)
  const read = (tx: Queryable): Promise<WaitingRow[]> => readWaitingRows(tx, weeks, { ...slice, tier, until })
  const rows =
    // for one owner, PostgreSQL may choose the index of its campaign
    slice.owner === undefined ? await db.snapshot(read, BY_INDEX) : await read(db)
  const due = rows.filter((row) => !row.is_held).map(dueOf)
  return { due, held: rows.length - due.length, next: cursorAfter(rows, slice.limit) }
}

type WaitingRow = OpenRow & { readonly is_held: boolean }

/** What `sliceOfWaiting` reads. */
export interface WaitingRead extends WaitingSlice {
  readonly tier: Tier
  readonly until: Date | 'infinity'
}

async function readWaitingRows(db: Queryable, weeks: Weeks, slice: WaitingRead): Promise<WaitingRow[]> {
  const { rows } = await db.query<WaitingRow>(
    sql`
      SELECT ${WAITING_COLUMNS}, ${DUE_MICROS} AS due_micros, ${suspendedByOwner('now()')} AS is_held
      FROM (${sliceOfWaiting(weeks, slice.owner)}) r
      ORDER BY due_at, message_id, n
    `,
    sliceValues(slice),
  )
  return rows
}

/** SQL: a slice, with the parameters of `sliceValues`. */
export function sliceOfWaiting(weeks: Weeks, owner: MailOwner | undefined): string {
  return sql`
    SELECT ${WAITING_COLUMNS}, campaign_id
    FROM recipients
    WHERE tier = $1
      AND ${weeks.contain('message_id')}
      AND ${WAITING}
      AND due_at <= $2
      AND ${afterCursor(3)}
      ${owner === undefined ? '' : `AND ${owner.kind}_id = $7`}
    ORDER BY due_at, message_id, n
    LIMIT $6
  `
}

export function sliceValues({ tier, until, cursor, limit, owner }: WaitingRead): unknown[] {
  return [tier, until, ...cursorValues(cursor), limit, ...(owner === undefined ? [] : [owner.id])]
}

/** The recipients that a dead process was sending. The claim was the last change of each. */
export async function readLeased(
  db: Queryable,
  leases: readonly number[],
  limit: number,
): Promise<(DueRecipient & { readonly lease: number; readonly claimedAt: Date })[]> {
  const weeks = await readOpenWeeks(db)
  const { rows } = await db.query<OpenRow & { readonly lease: number; readonly updated_at: Date }>(
    sql`
      SELECT ${WAITING_COLUMNS}, lease, updated_at
      FROM recipients
      WHERE is_open AND state = 'sending' AND lease = ANY ($1) AND ${weeks.contain('message_id')}
      LIMIT $2
    `,
    [leases, limit],
  )
  return rows.map((row) => ({ ...dueOf(row), lease: row.lease, claimedAt: row.updated_at }))
}

/** The attempt that a process made under its lease. */
export interface LeasedAttempt {
  readonly messageId: string
  readonly n: number
  readonly lease: number
  readonly attempt: number
}

const CURRENT_ATTEMPTS = weekly(
  'recipients-current-attempts',
  (weeks) => sql`
    SELECT i.place
    FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::smallint[])
      WITH ORDINALITY AS i (message_id, n, lease, attempt, place)
    JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n AND ${weeks.contain('r.message_id')}
    WHERE ${expectOneRow('i.place')}
      AND r.is_open
      AND r.state = 'sending'
      AND r.lease = i.lease
      AND r.attempts = i.attempt`,
)

/** Those of the attempts whose recipients still wait for a result, by their indexes. */
export async function findCurrentAttempts(
  db: Queryable,
  attempts: readonly LeasedAttempt[],
): Promise<ReadonlySet<number>> {
  const { rows } = await db.query<{ place: number | string }>(
    CURRENT_ATTEMPTS.for(attempts.map(({ messageId }) => messageId)),
    columnsOf(attempts, [(one) => one.messageId, (one) => one.n, (one) => one.lease, (one) => one.attempt]),
  )
  return new Set(rows.map(({ place }) => Number(place) - 1))
}

/** Recipients in `sending` whose lease no longer exists. */
export async function readOrphaned(
  db: Queryable,
  limit: number,
): Promise<(DueRecipient & { readonly lease: number })[]> {
  const weeks = await readOpenWeeks(db)
  const { rows } = await db.query<OpenRow & { readonly lease: number }>(
    sql`
      SELECT ${WAITING_COLUMNS}, lease
      FROM recipients r
      WHERE is_open
        AND ${weeks.contain('message_id')}
        AND state = 'sending'
        AND NOT EXISTS (SELECT FROM leases l WHERE l.id = r.lease)
      LIMIT $1
    `,
    [limit],
  )
  return rows.map((row) => ({ ...dueOf(row), lease: row.lease }))
}

/** Recipients in `unknown` whose wait is over; `tries` includes the attempt that led there. */
export async function readUnknown(
  db: Queryable,
  until: Date,
  limit: number,
): Promise<(DueRecipient & { readonly tries: number })[]> {
  const weeks = await readOpenWeeks(db)
  const { rows } = await db.query<OpenRow & { readonly tries: number }>(
    sql`
      SELECT ${WAITING_COLUMNS}, tries
      FROM recipients
      WHERE is_open AND state = 'unknown' AND due_at <= $1 AND ${weeks.contain('message_id')}
      LIMIT $2
    `,
    [until, limit],
  )
  return rows.map((row) => ({ ...dueOf(row), tries: row.tries }))
}
