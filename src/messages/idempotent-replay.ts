/** Reads claims of idempotency keys without claiming: for a rejected request that may have been accepted before. */
import { type Queryable, urgent } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { AcceptResult } from './submission.ts'

const FIND = urgent(
  'idempotency-peek',
  sql`
    SELECT key, body_hash, answer
    FROM idempotency_keys
    WHERE workspace_id = $1 AND key = ANY ($2::text[]) AND created_at > now() - interval '24 hours'
  `,
)

/** The stored results by key: a replay, or a mismatch if the request was different. Unused keys are not in the map. */
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
