/**
 * The records of the operator's zone with the DKIM keys of delegated domains, and which of them are not published yet.
 * A trigger (migrations/059) writes a row in the transaction that changes a key, so no change is lost. Publishing is
 * idempotent. A claim lasts for longer than a publication, so two workers never publish the same record at once, and
 * one that dies only delays it. A claim moves the due time to its own end, and a change moves it to now: so a record
 * that changes while it is published is published again, after the claim. So is one whose claim ended too early,
 * because its old value may have been published after the new one.
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

export interface ClaimedChange extends ZoneChange {
  /** Identifies the claim. */
  readonly claimedUntil: Date
}

/** Far longer than the time limit of the command, which is called once for a claim. */
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

/** The zone of a record: what follows the name of the key and that of the domain. */
const zoneOf = (name: string): string => sql`regexp_replace(${name}, '^[^.]*\\.[^.]*\\.', '')`
const CLAIMABLE = sql`due_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)`

/** Claims up to `limit` changes of one zone: that of the change that has been due for longest. */
export async function claimZoneChanges({ db, clock }: ZoneContext, limit: number): Promise<ClaimedChange[]> {
  const now = clock.now()
  const { rows } = await db.query<ClaimedChange>(
    sql`
      UPDATE dkim_zone_records
      SET due_at = $2, claimed_until = $2
      WHERE name IN (
        SELECT name
        FROM dkim_zone_records
        WHERE ${CLAIMABLE} AND ${zoneOf('name')} = (
          SELECT ${zoneOf('name')}
          FROM dkim_zone_records
          WHERE ${CLAIMABLE}
          ORDER BY due_at
          LIMIT 1
        )
        ORDER BY due_at
        LIMIT $3
        FOR UPDATE SKIP LOCKED
      )
      RETURNING name, value, attempts, claimed_until AS "claimedUntil"
    `,
    [new Date(now), new Date(now + CLAIM_TTL_MS), limit],
  )
  return rows
}

const GIVEN = sql`unnest($1::text[], $2::text[], $3::timestamptz[]) AS p (name, value, claimed_until)`
const IS_OWN = sql`r.claimed_until IS NOT DISTINCT FROM p.claimed_until`
/** Neither its value nor republishZone has made it due since the claim. */
const IS_UNCHANGED = sql`${IS_OWN} AND r.due_at = p.claimed_until`

const givenOf = (changes: readonly ClaimedChange[]): unknown[] => [
  changes.map(({ name }) => name),
  changes.map(({ value }) => value),
  changes.map(({ claimedUntil }) => claimedUntil),
]

/** Ends the claims. What changed meanwhile is due at once. Removed names are deleted. */
export async function storePublished(db: Queryable, changes: readonly ClaimedChange[]): Promise<void> {
  await db.query(
    sql`
      WITH p AS MATERIALIZED (SELECT * FROM ${GIVEN}),
        gone AS (
          DELETE FROM dkim_zone_records r
          USING p
          WHERE r.name = p.name AND ${IS_UNCHANGED} AND p.value IS NULL
        )
      UPDATE dkim_zone_records r
      SET published = p.value, attempts = 0, problem = NULL,
        due_at = CASE WHEN ${IS_UNCHANGED} THEN NULL WHEN ${IS_OWN} THEN r.due_at ELSE now() END,
        claimed_until = CASE WHEN ${IS_OWN} THEN NULL ELSE r.claimed_until END
      FROM p
      WHERE r.name = p.name AND NOT (${IS_UNCHANGED} AND p.value IS NULL)
    `,
    givenOf(changes),
  )
}

/** Ends the claims. They are tried again after a growing time, and what changed meanwhile at once. */
export async function storeUnpublished(
  { db, clock, config }: ZoneContext,
  changes: readonly ClaimedChange[],
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
      SET attempts = r.attempts + 1, problem = $5, claimed_until = NULL,
        due_at = CASE WHEN ${IS_UNCHANGED} THEN p.next_at ELSE r.due_at END
      FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[])
        AS p (name, value, claimed_until, next_at)
      WHERE r.name = p.name AND ${IS_OWN}
    `,
    [...givenOf(changes), dueAts, problem],
  )
}

/** The value as in a zone file and for nsupdate: quoted strings of at most 255 characters. */
export function quotedValue(value: string): string {
  return txtStrings(value)
    .map((part) => `"${part}"`)
    .join(' ')
}
