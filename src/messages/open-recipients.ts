/**
 * Reads recipients that are open, in slices by key, for those who keep the schedule right: the worker's reconcile, lease and unknown loops.
 * Nothing is held in memory but one slice.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { DueRecipient } from '#src/queue/due-schedule.ts'
import { suspendedByOwner } from '#src/queue/suspensions.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'

interface OpenRow {
  readonly message_id: string
  readonly n: number
  readonly tier: Tier
  readonly workspace_id: string
  readonly domain: string
  readonly due_at: Date
  /** Of those that are walked through. */
  readonly due_micros?: string
}

/** Where a walk by due time goes on. */
export interface Cursor {
  /** Microseconds since 1970, as digits: of a time cut to milliseconds, a full slice in one of them would be met again for ever. */
  readonly dueMicros: string
  readonly messageId: string
  readonly n: number
}

/** In SQL: the due time of a recipient as a cursor has it. */
export const DUE_MICROS = '(extract(epoch FROM due_at) * 1000000)::bigint::text'

/** In SQL: what comes after a cursor, whose `cursorValues` are the parameters from `first` on. */
export function afterCursor(first: number): string {
  return `($${first}::bigint IS NULL OR (due_at, message_id, n) > (timestamptz 'epoch' + $${first}::bigint * interval '1 microsecond', $${first + 1}, $${first + 2}))`
}

export function cursorValues(cursor: Cursor | null): (string | number | null)[] {
  return [cursor?.dueMicros ?? null, cursor?.messageId ?? null, cursor?.n ?? null]
}

const COLUMNS = 'message_id, n, workspace_id, tier, domain, due_at'
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

/** Whose mail. */
export interface MailOwner {
  readonly kind: 'workspace' | 'campaign'
  readonly id: string
}

interface WaitingSlice {
  readonly cursor: Cursor | null
  readonly limit: number
  /** Left out: everybody's. */
  readonly owner?: MailOwner
}

/**
 * The next slice of a tier's waiting recipients, by due time, that are due before `until`; `next` is null after the last. Of a slice, what
 * a stopped workspace or campaign holds back is left out: nobody could claim it.
 */
export async function readWaiting(
  db: Queryable,
  tier: Tier,
  until: Date,
  { cursor, limit, owner }: WaitingSlice,
): Promise<{ due: DueRecipient[]; next: Cursor | null }> {
  const { rows } = await db.query<OpenRow & { readonly is_held: boolean }>(
    sql`
      SELECT ${COLUMNS}, ${DUE_MICROS} AS due_micros, ${suspendedByOwner('now()')} AS is_held
      FROM (
        SELECT ${COLUMNS}, campaign_id
        FROM recipients
        WHERE tier = $1
          AND ${WAITING}
          AND due_at <= $2
          AND ${afterCursor(3)}
          ${owner === undefined ? '' : `AND ${owner.kind}_id = $7`}
        ORDER BY due_at, message_id, n
        LIMIT $6
      ) r
      ORDER BY due_at, message_id, n
    `,
    [tier, until, ...cursorValues(cursor), limit, ...(owner === undefined ? [] : [owner.id])],
  )
  return { due: rows.filter((row) => !row.is_held).map(dueOf), next: cursorAfter(rows, limit) }
}

/** What a dead process was sending. */
export async function readLeased(
  db: Queryable,
  leases: readonly number[],
  limit: number,
): Promise<(DueRecipient & { readonly lease: number })[]> {
  const { rows } = await db.query<OpenRow & { readonly lease: number }>(
    `SELECT ${COLUMNS}, lease FROM recipients WHERE is_open AND state = 'sending' AND lease = ANY ($1) LIMIT $2`,
    [leases, limit],
  )
  return rows.map((row) => ({ ...dueOf(row), lease: row.lease }))
}

/** What hangs in `sending` under a lease that no longer exists. */
export async function readOrphaned(
  db: Queryable,
  limit: number,
): Promise<(DueRecipient & { readonly lease: number })[]> {
  const { rows } = await db.query<OpenRow & { readonly lease: number }>(
    sql`
      SELECT ${COLUMNS}, lease
      FROM recipients r
      WHERE is_open AND state = 'sending' AND NOT EXISTS (SELECT FROM leases l WHERE l.id = r.lease)
      LIMIT $1
    `,
    [limit],
  )
  return rows.map((row) => ({ ...dueOf(row), lease: row.lease }))
}

/** Recipients in `unknown` whose wait is over; `tries` counts the try that led there. */
export async function readUnknown(
  db: Queryable,
  until: Date,
  limit: number,
): Promise<(DueRecipient & { readonly tries: number })[]> {
  const { rows } = await db.query<OpenRow & { readonly tries: number }>(
    `SELECT ${COLUMNS}, tries FROM recipients WHERE is_open AND state = 'unknown' AND due_at <= $1 LIMIT $2`,
    [until, limit],
  )
  return rows.map((row) => ({ ...dueOf(row), tries: row.tries }))
}
