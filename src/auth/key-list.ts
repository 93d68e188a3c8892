/** Lists and deactivates API keys for the operator. The secret is never stored, so it is never shown. */
import type { Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { KeyKind } from './key-format.ts'

export interface KeyRow {
  readonly id: string
  readonly workspaceId: string
  readonly kind: KeyKind
  readonly name: string
  readonly scopes: readonly string[]
  readonly domain: string | null
  /** The name of the connected account that it is bound to. */
  readonly account: string | null
  readonly isActive: boolean
  readonly expiresAt: Date | null
  readonly lastUsedAt: Date | null
  /** In CIDR notation; empty: everywhere. */
  readonly allowedNetworks: readonly string[]
  readonly createdAt: Date
}

const COLUMNS = sql`
  k.id, k.workspace_id AS "workspaceId", k.kind, k.name, k.scopes, d.domain, a.name AS account,
  k.is_active AS "isActive", k.expires_at AS "expiresAt", k.last_used_at AS "lastUsedAt",
  k.created_at AS "createdAt", k.allowed_networks AS "allowedNetworks"
`
const JOINS = 'LEFT JOIN domains d ON d.id = k.domain_id LEFT JOIN connected_accounts a ON a.id = k.account_id'

/** The newest first, of one workspace or (null) of all. */
export function listKeys(db: Queryable, workspaceId: string | null, request: PageRequest): Promise<Page<KeyRow>> {
  const where = '($1::uuid IS NULL OR k.workspace_id = $1)'
  const order = newestFirst('k.id')
  return readPage(
    db,
    { columns: COLUMNS, from: 'api_keys k', joins: JOINS, where, order, values: [workspaceId] },
    request,
  )
}

/**
 * Deactivates a key for good; all processes reject it almost immediately. False when no key has this id. Idempotent.
 */
export async function deactivateKey(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query('UPDATE api_keys SET is_active = false WHERE id = $1', [id])
  return rowCount === 1
}

/** The workspace of a key; null when no key has this id. */
export async function findKeyOwner(db: Queryable, id: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>('SELECT workspace_id AS id FROM api_keys WHERE id = $1', [id])
  return rows[0]?.id ?? null
}
