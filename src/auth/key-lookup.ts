/**
 * Reads API keys from PostgreSQL by hash, many in one statement. Deactivated keys are not found; expired keys are
 * found, with their expiry date.
 */
import { timingSafeEqual } from 'node:crypto'
import { type Queryable, urgent } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Caller } from './keys.ts'

export interface StoredKey extends Caller {
  readonly hash: Buffer
  readonly expiresAt: Date | null
}

const LOOKUP = urgent(
  'key-lookup',
  sql`
    SELECT k.secret_hash AS hash, k.id AS "keyId", k.kind, k.workspace_id AS "workspaceId", k.scopes,
      k.domain_id AS "domainId", d.domain, d.verification_status AS "domainStatus", w.plan,
      CASE
        WHEN a.id IS NOT NULL THEN json_build_object('id', a.id, 'kind', a.kind, 'addresses', a.addresses)
      END AS account,
      w.reply_to AS "replyTo", k.expires_at AS "expiresAt"
    FROM api_keys k
    JOIN workspaces w ON w.id = k.workspace_id
    LEFT JOIN domains d ON d.id = k.domain_id
    LEFT JOIN connected_accounts a ON a.id = k.account_id
    WHERE k.secret_hash = ANY ($1::bytea[]) AND k.is_active
  `,
)

/** Returns one result for each hash, in the same order; null = no active key. */
export async function findKeys(db: Queryable, hashes: readonly Buffer[]): Promise<(StoredKey | null)[]> {
  const { rows } = await db.query<StoredKey>(LOOKUP, [hashes])
  const byHash = new Map(rows.map((row) => [row.hash.toString('latin1'), row]))
  return hashes.map((hash) => {
    const row = byHash.get(hash.toString('latin1'))
    return row !== undefined && timingSafeEqual(row.hash, hash) ? row : null
  })
}
