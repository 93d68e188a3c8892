/**
 * Connection limits learned from replies: how far a throttle is below the limit of the shaping file. AIMD: a "too much"
 * reply halves the limit, accepted mail raises it slowly, so sending stays just below what the receiver accepts. Pure,
 * except for the two functions that load and store the limits across restarts.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** Replies within this time after a halving belong to the rate that was already reduced: they count once. */
const REACTION_MS = 10_000
/** The limit does not rise until this long after the last halving. */
const RECOVERY_DELAY_MS = 60_000
/** Deliveries that raise the limit by one connection. */
const DELIVERIES_PER_CONNECTION = 50
/** Limits of receivers without mail for this long are dropped. */
const RETENTION_DAYS = 30

export interface LearnedLimit {
  /** Connections; fractional while the limit rises; never below 1. */
  readonly connections: number
  /** Time of the last halving, epoch ms; 0 = nothing was learned. */
  readonly reducedAtMs: number
}

/** More than any file allows. */
const UNLIMITED = 100_000

/** Nothing was learned, or the limit has fully recovered: the limit of the file applies. */
export const UNLEARNED: LearnedLimit = { connections: UNLIMITED, reducedAtMs: 0 }

/** The current time in epoch ms; `scale` is RETRY_SCALE. */
export interface ScaledTime {
  readonly nowMs: number
  readonly scale: number
}

/** Halves the limit, at least to one; once for each burst of replies. */
export function halve(learned: LearnedLimit, limit: number, { nowMs, scale }: ScaledTime): LearnedLimit {
  if (nowMs - learned.reducedAtMs < REACTION_MS * scale) return learned
  return { connections: Math.max(1, Math.floor(allowedConnections(learned, limit) / 2)), reducedAtMs: nowMs }
}

/** The limit after a suspension: one connection, rising slowly. */
export function startAfterSuspension(nowMs: number): LearnedLimit {
  return { connections: 1, reducedAtMs: nowMs }
}

/** Raises the limit after this many deliveries, up to `limit`. Returns the same object if nothing changes. */
export function recover(
  learned: LearnedLimit,
  deliveries: number,
  limit: number,
  { nowMs, scale }: ScaledTime,
): LearnedLimit {
  // by value: the limit of another process arrives from Redis as an object of its own
  if (learned.reducedAtMs === UNLEARNED.reducedAtMs) return learned
  if (nowMs - learned.reducedAtMs < RECOVERY_DELAY_MS * scale) return learned
  const connections = learned.connections + deliveries / DELIVERIES_PER_CONNECTION
  if (connections >= limit) return UNLEARNED
  return deliveries === 0 ? learned : { ...learned, connections }
}

/** Connections that may be used now: a whole number from 1 to `limit`. */
export function allowedConnections(learned: LearnedLimit, limit: number): number {
  return Math.max(1, Math.floor(Math.min(learned.connections, limit)))
}

export interface StoredLimit extends LearnedLimit {
  /** Key of the throttle (throttle-key.ts). */
  readonly pace: string
  readonly source: string
  /** When this was learned, epoch ms. */
  readonly knownAtMs: number
}

export async function loadLearnedLimits(db: Queryable): Promise<StoredLimit[]> {
  const { rows } = await db.query<{ pace: string; source: string; connections: number; changed_at: Date }>(
    `SELECT pace, source, connections, changed_at FROM learned_limits WHERE changed_at > now() - $1 * interval '1 day'`,
    [RETENTION_DAYS],
  )
  return rows.map((row) => ({
    pace: row.pace,
    source: row.source,
    connections: row.connections,
    reducedAtMs: row.changed_at.getTime(),
    knownAtMs: row.changed_at.getTime(),
  }))
}

/**
 * Stores many limits in one statement; recovered ones are deleted. Of two processes, the later halving wins, even if
 * the other one stores its recovery of an earlier halving after it.
 */
export async function storeLearnedLimits(db: Queryable, rows: readonly StoredLimit[]): Promise<void> {
  const [reduced, recovered] = [rows.filter((row) => row.reducedAtMs > 0), rows.filter((row) => row.reducedAtMs === 0)]
  const sorted = reduced.toSorted((one, other) => (one.pace < other.pace ? -1 : 1))
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
        (row) => new Date(row.reducedAtMs),
      ]),
    )
  if (recovered.length > 0)
    await db.query(
      sql`
        DELETE FROM learned_limits l
        USING unnest($1::text[], $2::text[], $3::timestamptz[]) AS gone (pace, source, known_at)
        WHERE l.pace = gone.pace AND l.source = gone.source AND l.changed_at <= gone.known_at
      `,
      columnsOf(recovered, [(row) => row.pace, (row) => row.source, (row) => new Date(row.knownAtMs)]),
    )
}
