/**
 * The limits that were learned from replies: how far below the file's a pace is now. AIMD: a receiver that says "too much" halves it, mail
 * that it takes adds back slowly, so that we stay just below what it bears. Pure but for the two statements that keep it over restarts.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** A burst of complaints is one: those who come within this time are about the pace that is already gone. */
const SETTLE_MS = 10_000
/** Nothing is added back so soon after a complaint. */
const REST_MS = 60_000
/** Deliveries that give back one connection. */
const DELIVERIES_PER_STEP = 50
/** Of receivers that nothing was sent to for so long nothing is known any more. */
const FORGET_DAYS = 30

export interface Learned {
  /** Connections, not whole while they grow back; never below 1. */
  readonly connections: number
  /** Of the last halving, epoch ms; 0 = nothing was learned. */
  readonly slowedAtMs: number
}

/** More than any file allows. */
const UNLIMITED = 100_000

/** Nothing was learned yet, or all of it was given back: the file's limit holds, whatever it is. */
export const UNLEARNED: Learned = { connections: UNLIMITED, slowedAtMs: 0 }

/** Moments are epoch ms; `scale` is RETRY_SCALE. */
export interface Moment {
  readonly nowMs: number
  readonly scale: number
}

/** Half of it, at least one; once for each burst of complaints. */
export function halve(learned: Learned, limit: number, { nowMs, scale }: Moment): Learned {
  if (nowMs - learned.slowedAtMs < SETTLE_MS * scale) return learned
  return { connections: Math.max(1, Math.floor(allowed(learned, limit) / 2)), slowedAtMs: nowMs }
}

/** Where a suspension ends: one connection, and from there slowly. */
export function startOver(nowMs: number): Learned {
  return { connections: 1, slowedAtMs: nowMs }
}

/** What so many deliveries give back, up to `limit`. */
export function recover(learned: Learned, deliveries: number, limit: number, { nowMs, scale }: Moment): Learned {
  if (learned === UNLEARNED || nowMs - learned.slowedAtMs < REST_MS * scale) return learned
  const connections = learned.connections + deliveries / DELIVERIES_PER_STEP
  return connections >= limit ? UNLEARNED : { ...learned, connections }
}

/** Connections that may be used now: whole, at least 1, at most `limit`. */
export function allowed(learned: Learned, limit: number): number {
  return Math.max(1, Math.floor(Math.min(learned.connections, limit)))
}

export interface LearnedRow extends Learned {
  readonly pace: string
  readonly source: string
  /** When this came to be known, epoch ms. */
  readonly knownAtMs: number
}

export async function loadLearned(db: Queryable): Promise<LearnedRow[]> {
  const { rows } = await db.query<{ pace: string; source: string; connections: number; changed_at: Date }>(
    `SELECT pace, source, connections, changed_at FROM learned_limits WHERE changed_at > now() - $1 * interval '1 day'`,
    [FORGET_DAYS],
  )
  return rows.map((row) => ({
    pace: row.pace,
    source: row.source,
    connections: row.connections,
    slowedAtMs: row.changed_at.getTime(),
    knownAtMs: row.changed_at.getTime(),
  }))
}

/**
 * Stores many at once; those that are back at their limit are forgotten. Two processes that know the same pace agree: the later halving
 * stays, also when another process that had seen the pace whole before it comes to store that only now.
 */
export async function storeLearned(db: Queryable, rows: readonly LearnedRow[]): Promise<void> {
  const [below, whole] = [rows.filter((row) => row.slowedAtMs > 0), rows.filter((row) => row.slowedAtMs === 0)]
  const sorted = below.toSorted((one, other) => (one.pace < other.pace ? -1 : 1))
  if (sorted.length > 0)
    await db.query(
      sql`
        INSERT INTO learned_limits (pace, source, connections, changed_at)
        SELECT *
        FROM unnest($1::text[], $2::text[], $3::real[], $4::timestamptz[])
        ON CONFLICT (pace, source)
        DO UPDATE SET connections = excluded.connections, changed_at = excluded.changed_at
        WHERE learned_limits.changed_at <= excluded.changed_at
      `,
      columnsOf(sorted, [
        (row) => row.pace,
        (row) => row.source,
        (row) => row.connections,
        (row) => new Date(row.slowedAtMs),
      ]),
    )
  if (whole.length > 0)
    await db.query(
      sql`
        DELETE FROM learned_limits l
        USING unnest($1::text[], $2::text[], $3::timestamptz[]) AS gone (pace, source, known_at)
        WHERE l.pace = gone.pace AND l.source = gone.source AND l.changed_at <= gone.known_at
      `,
      columnsOf(whole, [(row) => row.pace, (row) => row.source, (row) => new Date(row.knownAtMs)]),
    )
}
