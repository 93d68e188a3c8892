/**
 * Reviews of the suppression list by today's rules: the rows by which the api asks an inbound process, because the api
 * does not load the code that classifies replies and reports. A process claims a request for one slice of the list, and
 * stores the slice together with what it removed. If the process dies, another one claims the request and continues
 * behind the last stored slice. Without an inbound process a request waits. Requests are deleted after a day, whether
 * or not they have ended.
 */
import type { Context } from '#src/context.ts'
import { newId, timeOf } from '#src/platform/id.ts'
import type { Actor } from '#src/stores/audit.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** An entry of the suppression list that today's rules would not make. */
export interface WrongSuppression {
  readonly workspaceId: string
  readonly address: string
  /** The rule that created the entry. */
  readonly rule: string
  readonly reply: string
  /** The class by the current rules. */
  readonly reading: string
}

/** Before the first entry, or at an entry of the list: workspace and address. */
export type ReviewPlace = readonly [workspaceId: string, address: string]

export const LIST_START: ReviewPlace = ['00000000-0000-0000-0000-000000000000', '']

/** Entries that are stored with a review; all are counted. */
export const MAX_REVIEW_ENTRIES = 1000

/** A claim expires after this time; it lasts for one slice. */
const CLAIM_DURATION = `interval '90 seconds'`
const RETENTION = `interval '1 day'`

/** The review is attributed to the actor of `db`, and so is what it removes. Returns its id. */
export async function requestReview(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { isLifting }: { readonly isLifting: boolean },
): Promise<string> {
  const id = newId(clock.now())
  await db.query(
    sql`
      INSERT INTO suppression_reviews (id, is_lifting, actor)
      VALUES ($1, $2, nullif(current_setting('mailstead.actor', true), '')::jsonb)
    `,
    [id, isLifting],
  )
  return id
}

export interface SuppressionReview {
  readonly id: string
  readonly isLifting: boolean
  readonly state: 'waiting' | 'running' | 'done'
  /** Entries of the list that were checked. */
  readonly seen: number
  /** Entries that were wrong; with `isLifting` those that were removed. */
  readonly found: number
  /** The first of those. */
  readonly entries: readonly WrongSuppression[]
  readonly requestedAt: Date
  readonly endedAt: Date | null
}

type ReviewRow = Omit<SuppressionReview, 'state' | 'requestedAt'> & { readonly isTaken: boolean }

/** Null when the review does not exist. */
export async function findReview(db: Queryable, id: string): Promise<SuppressionReview | null> {
  const {
    rows: [row],
  } = await db.query<ReviewRow>(
    sql`
      SELECT id, is_lifting AS "isLifting", seen, found, entries, ended_at AS "endedAt",
        taken_until > now() AS "isTaken"
      FROM suppression_reviews
      WHERE id = $1
    `,
    [id],
  )
  if (row === undefined) return null
  const { isTaken, ...review } = row
  const isBegun = isTaken || row.seen > 0
  const state = row.endedAt !== null ? 'done' : isBegun ? 'running' : 'waiting'
  return { ...review, state, requestedAt: new Date(timeOf(id)) }
}

/** Also true when it does not exist. */
export async function hasReviewEnded(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM suppression_reviews WHERE id = $1 AND ended_at IS NULL', [id])
  return rows.length === 0
}

export interface ClaimedReview {
  readonly id: string
  readonly isLifting: boolean
  readonly actor: Actor | null
  readonly seen: number
  /** How many entries are stored with it. */
  readonly listed: number
  readonly place: ReviewPlace
}

/** Claims the oldest request that no process works on; null when there is none. */
export async function claimReview(db: Queryable): Promise<ClaimedReview | null> {
  const {
    rows: [row],
  } = await db.query<Omit<ClaimedReview, 'place'> & { readonly workspaceId: string; readonly address: string }>(sql`
    UPDATE suppression_reviews
    SET taken_until = now() + ${CLAIM_DURATION}
    WHERE id = (
      SELECT id
      FROM suppression_reviews
      WHERE ended_at IS NULL AND taken_until < now()
      ORDER BY id
      LIMIT 1
      FOR UPDATE SKIP LOCKED
    )
    RETURNING id, is_lifting AS "isLifting", actor, seen, jsonb_array_length(entries) AS listed,
      at_workspace AS "workspaceId", at_address AS address
  `)
  if (row === undefined) return null
  const { workspaceId, address, ...claimed } = row
  return { ...claimed, place: [workspaceId, address] }
}

/**
 * Locks a claimed review to store its slice. False: the claim had expired, and another process has stored the slice, or
 * the review was deleted.
 */
export async function lockReview(tx: Queryable, { id, seen }: ClaimedReview): Promise<boolean> {
  const { rows } = await tx.query(
    'SELECT FROM suppression_reviews WHERE id = $1 AND seen = $2 AND ended_at IS NULL FOR UPDATE',
    [id, seen],
  )
  return rows.length === 1
}

export interface ReviewedSlice {
  readonly seen: number
  readonly wrong: readonly WrongSuppression[]
  /** Null: the list has ended. */
  readonly next: ReviewPlace | null
}

/** Stores the next slice of a locked review, and ends the claim. */
export async function storeReviewedSlice(
  tx: Queryable,
  { id, listed }: ClaimedReview,
  { seen, wrong, next }: ReviewedSlice,
): Promise<void> {
  const entries = wrong.slice(0, Math.max(0, MAX_REVIEW_ENTRIES - listed))
  await tx.query(
    sql`
      UPDATE suppression_reviews
      SET seen = seen + $2,
        found = found + $3,
        entries = CASE WHEN $4::jsonb = '[]' THEN entries ELSE entries || $4::jsonb END,
        at_workspace = $5,
        at_address = $6,
        taken_until = '-infinity',
        ended_at = CASE WHEN $7::boolean THEN now() END
      WHERE id = $1
    `,
    [id, seen, wrong.length, JSON.stringify(entries), ...(next ?? LIST_START), next === null],
  )
}

export async function deleteOldReviews(db: Queryable): Promise<void> {
  await db.query(sql`
    DELETE FROM suppression_reviews
    WHERE id < (
      lpad(to_hex((extract(epoch FROM now() - ${RETENTION}) * 1000)::bigint), 12, '0') || repeat('0', 20)
    )::uuid
  `)
}
