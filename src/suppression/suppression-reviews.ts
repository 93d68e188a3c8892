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
import { mapPage, newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
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

/** The review is attributed to the actor of `db`, and so is what it removes. `by`: for people. Returns its id. */
export async function requestReview(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { isLifting, by }: { readonly isLifting: boolean; readonly by: string },
): Promise<string> {
  const id = newId(clock.now())
  await db.query(
    sql`
      INSERT INTO suppression_reviews (id, is_lifting, requested_by, actor)
      VALUES ($1, $2, $3, nullif(current_setting('mailstead.actor', true), '')::jsonb)
    `,
    [id, isLifting, by],
  )
  return id
}

/** A review without its entries. */
export interface ReviewProgress {
  readonly id: string
  readonly isLifting: boolean
  /** Null: requested by an earlier version. */
  readonly requestedBy: string | null
  readonly state: 'waiting' | 'running' | 'done'
  /** Entries of the list to check, counted at the beginning; null: not counted yet. */
  readonly total: number | null
  /** Entries of the list that were checked. */
  readonly seen: number
  /** Entries that were wrong; with `isLifting` those that were removed. */
  readonly found: number
  readonly requestedAt: Date
  readonly endedAt: Date | null
}

export interface SuppressionReview extends ReviewProgress {
  /** The first of the wrong ones. */
  readonly entries: readonly WrongSuppression[]
}

type Stored<Review extends ReviewProgress> = Omit<Review, 'state' | 'requestedAt'> & { readonly isTaken: boolean }

const PROGRESS_COLUMNS = sql`
  id, is_lifting AS "isLifting", requested_by AS "requestedBy", total, seen, found, ended_at AS "endedAt",
  taken_until > now() AS "isTaken"
`

function describeStored<Row extends Stored<ReviewProgress>>({ isTaken, ...row }: Row) {
  const isBegun = isTaken || row.seen > 0
  const state: ReviewProgress['state'] = row.endedAt !== null ? 'done' : isBegun ? 'running' : 'waiting'
  return { ...row, state, requestedAt: new Date(timeOf(row.id)) }
}

/** The newest first. */
export async function listReviews(db: Queryable, page: PageRequest): Promise<Page<ReviewProgress>> {
  const listing = { columns: PROGRESS_COLUMNS, from: 'suppression_reviews', where: 'true', order: newestFirst() }
  return mapPage(await readPage<Stored<ReviewProgress>>(db, { ...listing, values: [] }, page), describeStored)
}

/** Null when the review does not exist. */
export async function findReview(db: Queryable, id: string): Promise<SuppressionReview | null> {
  const {
    rows: [row],
  } = await db.query<Stored<SuppressionReview>>(
    `SELECT ${PROGRESS_COLUMNS}, entries FROM suppression_reviews WHERE id = $1`,
    [id],
  )
  return row === undefined ? null : describeStored(row)
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
  /** Null: the entries of the list are not counted yet. */
  readonly total: number | null
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
    RETURNING id, is_lifting AS "isLifting", actor, total, seen, jsonb_array_length(entries) AS listed,
      at_workspace AS "workspaceId", at_address AS address
  `)
  if (row === undefined) return null
  const { workspaceId, address, ...claimed } = row
  return { ...claimed, place: [workspaceId, address] }
}

/** Stores how many entries there are, before the first slice. */
export async function storeReviewLength(db: Queryable, { id }: ClaimedReview, total: number): Promise<void> {
  await db.query('UPDATE suppression_reviews SET total = $2 WHERE id = $1', [id, total])
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
