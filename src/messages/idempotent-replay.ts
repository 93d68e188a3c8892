/** Looking at a claim on an idempotency key without making one: for a request that is refused now and may have been accepted before. */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { AcceptResult } from './submission.ts'

const FIND = prepared(
  'idempotency-peek',
  sql`
    SELECT key, body_hash, answer
    FROM idempotency_keys
    WHERE workspace_id = $1 AND key = ANY ($2::text[]) AND created_at > now() - interval '24 hours'
  `,
)

/** What was answered under these keys: by key, a replay, or a mismatch where the request was another. Unused keys are not in it. */
export async function findStoredResults(
  db: Queryable,
  workspaceId: string,
  keys: readonly string[],
  bodyHash: Buffer,
): Promise<Map<string, AcceptResult>> {
  const { rows } = await db.query<{ key: string; body_hash: Buffer; answer: string }>(FIND, [workspaceId, keys])
  return new Map(
    rows.map(({ key, body_hash, answer }): [string, AcceptResult] => [
      key,
      body_hash.equals(bodyHash) ? { kind: 'replayed', answer } : { kind: 'mismatch' },
    ]),
  )
}
