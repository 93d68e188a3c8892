/**
 * Reads API keys from PostgreSQL by hash, many in one statement: by the current secret, and by an earlier one that is
 * still valid after a rotation. Deactivated keys are not found; expired keys are found, with their expiry date.
 */
import { timingSafeEqual } from 'node:crypto'
import { type Queryable, urgent } from '#src/stores/db.ts'
import { suspendedEntirely } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import type { KeyCaller } from './keys.ts'

export interface StoredKey extends Omit<KeyCaller, 'networks'> {
  /** In CIDR notation. */
  readonly allowedNetworks: readonly string[]
  readonly hash: Buffer
  readonly expiresAt: Date | null
}

const LOOKUP = urgent(
  'key-lookup',
  sql`
    SELECT s.hash, k.id AS "keyId", k.kind, k.workspace_id AS "workspaceId", k.scopes,
      k.allowed_networks AS "allowedNetworks",
      k.domain_id AS "domainId", d.domain, d.verification_status AS "domainStatus", w.plan,
      CASE
        WHEN a.id IS NOT NULL THEN json_build_object('id', a.id, 'kind', a.kind, 'addresses', a.addresses)
      END AS account,
      w.reply_to AS "replyTo", least(k.expires_at, s.until) AS "expiresAt",
      ${suspendedEntirely('k.workspace_id')} AS "isSuspended"
    FROM (
      SELECT id, secret_hash AS hash, NULL::timestamptz AS until
      FROM api_keys
      WHERE secret_hash = ANY ($1::bytea[])
      UNION ALL
      SELECT key_id, hash, expires_at
      FROM api_key_secrets
      WHERE hash = ANY ($1::bytea[])
    ) s
    JOIN api_keys k ON k.id = s.id
    JOIN workspaces w ON w.id = k.workspace_id
    LEFT JOIN domains d ON d.id = k.domain_id
    LEFT JOIN connected_accounts a ON a.id = k.account_id
    WHERE k.is_active
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
