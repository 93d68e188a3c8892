/**
 * The records of the operator's zone with the DKIM keys of delegated domains, and which of them are not published yet.
 * A trigger (migrations/059) writes a row in the transaction that changes a key, so no change is lost. Publishing is
 * idempotent: a claim moves the due time by more than a publication takes, so two workers do not publish the same
 * record, and one that dies only delays it. A record that changes while it is published stays due.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { txtStrings } from './dkim-key.ts'

export interface ZoneRecord {
  /** Absolute, without a final dot. */
  readonly name: string
  /** The TXT record in one piece; null: the name must have none. */
  readonly value: string | null
  readonly isPublished: boolean
  readonly changedAt: Date
  /** Why it could not be published. */
  readonly problem: string | null
}

export interface ZoneChange {
  readonly name: string
  readonly value: string | null
  /** Failed attempts so far. */
  readonly attempts: number
}

/** Far longer than the command may take. */
const CLAIM_TTL_MS = 2 * 60_000
const FIRST_RETRY_MS = 30_000
const LONGEST_RETRY_MS = 60 * 60_000

type ZoneContext = Pick<Context, 'db' | 'clock' | 'config'>

const COLUMNS = `name, value, due_at IS NULL AS "isPublished", changed_at AS "changedAt", problem`

/** All records, or those that are not published yet, by name. */
export async function listZoneRecords(db: Queryable, { pendingOnly = false } = {}): Promise<ZoneRecord[]> {
  const { rows } = await db.query<ZoneRecord>(
    sql`SELECT ${COLUMNS} FROM dkim_zone_records ${pendingOnly ? 'WHERE due_at IS NOT NULL' : ''} ORDER BY name`,
  )
  return rows
}

/** Makes all records due again, for a zone that lost its content. Returns their number. */
export async function republishZone(db: Queryable): Promise<number> {
  const { rowCount } = await db.query('UPDATE dkim_zone_records SET due_at = now(), attempts = 0')
  return rowCount ?? 0
}

/** Claims up to `limit` changes, longest due first. */
export async function claimZoneChanges({ db, clock }: ZoneContext, limit: number): Promise<ZoneChange[]> {
  const now = clock.now()
  const { rows } = await db.query<ZoneChange>(
    sql`
      UPDATE dkim_zone_records
      SET due_at = $2
      WHERE name IN (
        SELECT name
        FROM dkim_zone_records
        WHERE due_at <= $1
        ORDER BY due_at
        LIMIT $3
        FOR UPDATE SKIP LOCKED
      )
      RETURNING name, value, attempts
    `,
    [new Date(now), new Date(now + CLAIM_TTL_MS), limit],
  )
  return rows
}

/** Rows that changed since the claim stay as they are. Removed names are forgotten. */
const UNCHANGED = `r.name = p.name AND r.value IS NOT DISTINCT FROM p.value`
const GIVEN = `unnest($1::text[], $2::text[]) AS p (name, value)`

export async function storePublished(db: Queryable, changes: readonly ZoneChange[]): Promise<void> {
  const values = [changes.map(({ name }) => name), changes.map(({ value }) => value)]
  await db.query(
    sql`
      WITH p AS MATERIALIZED (SELECT * FROM ${GIVEN}),
        gone AS (DELETE FROM dkim_zone_records r USING p WHERE ${UNCHANGED} AND p.value IS NULL)
      UPDATE dkim_zone_records r
      SET published = p.value, due_at = NULL, attempts = 0, problem = NULL
      FROM p
      WHERE ${UNCHANGED} AND p.value IS NOT NULL
    `,
    values,
  )
}

/** They are tried again after a growing time. */
export async function storeUnpublished(
  { db, clock, config }: ZoneContext,
  changes: readonly ZoneChange[],
  problem: string,
): Promise<void> {
  const now = clock.now()
  const dueAts = changes.map(
    ({ attempts }) =>
      new Date(now + Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 10)) * config.retryScale),
  )
  await db.query(
    sql`
      UPDATE dkim_zone_records r
      SET attempts = r.attempts + 1, due_at = p.due_at, problem = $4
      FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS p (name, value, due_at)
      WHERE ${UNCHANGED}
    `,
    [changes.map(({ name }) => name), changes.map(({ value }) => value), dueAts, problem],
  )
}

/** The value as in a zone file and for nsupdate: quoted strings of at most 255 characters. */
export function quotedValue(value: string): string {
  return txtStrings(value)
    .map((part) => `"${part}"`)
    .join(' ')
}
