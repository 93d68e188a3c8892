/**
 * Claims idempotency keys. The transaction that stores a message also claims its key, so a crash leaves both or
 * neither. A duplicate in another process waits at the unique index until that transaction ends, and then replays the
 * stored response. A claim lasts 24 hours.
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
 * The claim as a CTE `claimed` of another statement. Its parameters, from `first` on, are those of `claimParameters`.
 * For a key that is already claimed it writes null as the hash; the NOT NULL column rejects that, and the whole
 * statement is rolled back.
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

/** Whether a statement with `claimKeysCte` was rejected because a key is already claimed. */
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

/** Workspace and key as one string that identifies a claim. */
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

/**
 * Claims the keys of a batch, in which each key occurs at most once. Returns the result of each duplicate by claim id.
 */
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
  // the claim existed a moment ago and is being released: the client retries
  if (stored === undefined) return { kind: 'in-progress' }
  return stored.body_hash.equals(submission.idempotency.bodyHash)
    ? { kind: 'replayed', answer: stored.answer }
    : { kind: 'mismatch' }
}

/** Releases the keys of messages that are rejected after the claim. */
export async function releaseKeys(tx: Queryable, submissions: readonly Submission[]): Promise<void> {
  const keyed = submissions.filter(hasIdempotencyKey)
  if (keyed.length > 0) await tx.query(RELEASE, columnsOf(keyed, [(s) => s.workspaceId, (s) => s.idempotency.key]))
}
