/**
 * Claims on idempotency keys. A claim is made in the transaction that stores its message, so a crash leaves both or neither.
 * A twin in another process waits for that transaction by the unique index and then replays its answer. Claims last 24 hours.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { isNotNullViolation, prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { AcceptResult, Idempotency, Submission } from './submission.ts'

const CLAIM = prepared(
  'idempotency-claim',
  sql`
    INSERT INTO idempotency_keys AS k (workspace_id, key, body_hash, answer, created_at)
    SELECT *
    FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[], $5::timestamptz[]) AS i (
      workspace_id, key, body_hash, answer, created_at
    )
    ORDER BY workspace_id, key
    ON CONFLICT (workspace_id, key)
    DO UPDATE SET body_hash = excluded.body_hash, answer = excluded.answer, created_at = excluded.created_at
    WHERE k.created_at < excluded.created_at - interval '24 hours'
    RETURNING workspace_id, key
  `,
)

const FIND = prepared(
  'idempotency-find',
  sql`
    SELECT k.workspace_id, k.key, k.body_hash, k.answer
    FROM idempotency_keys k
    JOIN unnest($1::uuid[], $2::text[]) AS i (workspace_id, key) ON k.workspace_id = i.workspace_id AND k.key = i.key
  `,
)

const RELEASE = prepared(
  'idempotency-forget',
  sql`
    DELETE FROM idempotency_keys k
    USING unnest($1::uuid[], $2::text[]) AS i (workspace_id, key)
    WHERE k.workspace_id = i.workspace_id AND k.key = i.key
  `,
)

/**
 * The same as a part of another statement, as `claimed`; its parameters from `first` on are those of `claimParameters`. A key that is taken
 * gets null for its hash, which the column refuses, and that takes the whole statement back.
 */
export function claimKeysCte(first: number): string {
  const parameter = (n: number): string => `$${first + n}`
  return sql`
    claimed AS (
      INSERT INTO idempotency_keys AS k (workspace_id, key, body_hash, answer, created_at)
      SELECT *
      FROM unnest(
        ${parameter(0)}::uuid[], ${parameter(1)}::text[], ${parameter(2)}::bytea[], ${parameter(3)}::text[],
        ${parameter(4)}::timestamptz[]
      ) AS i (workspace_id, key, body_hash, answer, created_at)
      ORDER BY workspace_id, key
      ON CONFLICT (workspace_id, key)
      DO UPDATE SET answer = excluded.answer,
        created_at = excluded.created_at,
        body_hash = CASE WHEN k.created_at < excluded.created_at - interval '24 hours' THEN excluded.body_hash END
      RETURNING 1
    )
  `
}

/** What `claimAtOnce` is refused with. */
export function isKeyTaken(error: unknown): boolean {
  return isNotNullViolation(error, 'idempotency_keys', 'body_hash')
}

export function claimParameters(submissions: readonly KeyedSubmission[]): unknown[][] {
  return columnsOf(submissions, [
    (s) => s.workspaceId,
    (s) => s.idempotency.key,
    (s) => s.idempotency.bodyHash,
    (s) => s.idempotency.answer,
    (s) => s.createdAt,
  ])
}

interface KeyRow {
  readonly workspace_id: string
  readonly key: string
}
interface StoredKeyRow extends KeyRow {
  readonly body_hash: Buffer
  readonly answer: string
}

type KeyedSubmission = Submission & { readonly idempotency: Idempotency }

/** Workspace and key as one text: the identity of a claim. */
export function claimIdOf(submission: {
  readonly workspaceId: string
  readonly idempotency: { readonly key: string }
}): string {
  return `${submission.workspaceId} ${submission.idempotency.key}`
}

export function hasIdempotencyKey(submission: Submission): submission is KeyedSubmission {
  return submission.idempotency !== null
}

function claimIdsOf(rows: readonly KeyRow[]): string[] {
  return rows.map((row) => `${row.workspace_id} ${row.key}`)
}

/** Claims the keys of a batch (each at most once in it). Answers, by claim name, what those get that came second. */
export async function claimKeys(tx: Queryable, submissions: readonly Submission[]): Promise<Map<string, AcceptResult>> {
  const keyed = submissions.filter(hasIdempotencyKey)
  if (keyed.length === 0) return new Map()
  const won = new Set(claimIdsOf((await tx.query<KeyRow>(CLAIM, claimParameters(keyed))).rows))
  const lost = keyed.filter((submission) => !won.has(claimIdOf(submission)))
  if (lost.length === 0) return new Map()
  const stored = (await tx.query<StoredKeyRow>(FIND, columnsOf(lost, [(s) => s.workspaceId, (s) => s.idempotency.key])))
    .rows
  const byClaimId = new Map(stored.map((row) => [`${row.workspace_id} ${row.key}`, row]))
  return new Map(
    lost.map((submission) => [
      claimIdOf(submission),
      resultForDuplicate(submission, byClaimId.get(claimIdOf(submission))),
    ]),
  )
}

function resultForDuplicate(submission: KeyedSubmission, stored: StoredKeyRow | undefined): AcceptResult {
  if (stored === undefined) return { kind: 'in-progress' } // it was there a moment ago and is just being removed: the caller comes again
  return stored.body_hash.equals(submission.idempotency.bodyHash)
    ? { kind: 'replayed', answer: stored.answer }
    : { kind: 'mismatch' }
}

/** Takes back the claims of messages that are refused after all. */
export async function releaseKeys(tx: Queryable, submissions: readonly Submission[]): Promise<void> {
  const keyed = submissions.filter(hasIdempotencyKey)
  if (keyed.length > 0) await tx.query(RELEASE, columnsOf(keyed, [(s) => s.workspaceId, (s) => s.idempotency.key]))
}
