/**
 * The API keys of a workspace, for their owner: list, change, rotate, revoke. All are bound to the workspace of the
 * caller.
 *
 * A rotation replaces the secret of a key and changes nothing else: kind, scopes, sender and expiry stay, so nobody
 * gets more rights by it. Nobody may rotate a key that may do what they may not, since they get its secret. Earlier
 * secrets stay valid for a while. A client that gets no response rotates again; programs go on with the secret they
 * have until its time ends, because a rotation never shortens it unless the overlap is 0.
 *
 * Only people who may create Admin keys give one more scopes or a later end; a key can only restrict itself and others.
 * So a leaked key gets neither more rights nor a longer life. A key that has ended stays ended.
 */
import { recordChange } from '#src/stores/audit.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { generateKey, hashKey, type KeyKind } from './key-format.ts'
import type { Caller } from './keys.ts'
import type { KeyScope } from './scopes.ts'

export interface ManagedKey {
  readonly id: string
  readonly kind: KeyKind
  readonly name: string
  readonly scopes: readonly string[]
  readonly domainId: string | null
  readonly domain: string | null
  readonly accountId: string | null
  /** False once it is revoked. */
  readonly isActive: boolean
  readonly expiresAt: Date | null
  readonly lastUsedAt: Date | null
  /** In CIDR notation; empty: it may be used everywhere. */
  readonly allowedNetworks: readonly string[]
  readonly createdAt: Date
  /** When the earlier secrets end that are still valid, the next one first. */
  readonly earlierSecretsUntil: readonly Date[]
}

/** More secrets of one key at a time are refused. */
export const MAX_EARLIER_SECRETS = 4

const COLUMNS = sql`
  k.id, k.kind, k.name, k.scopes, k.domain_id AS "domainId", d.domain, k.account_id AS "accountId",
  k.is_active AS "isActive", k.expires_at AS "expiresAt", k.last_used_at AS "lastUsedAt", k.created_at AS "createdAt",
  k.allowed_networks AS "allowedNetworks",
  ARRAY(
    SELECT s.expires_at
    FROM api_key_secrets s
    WHERE s.key_id = k.id AND s.expires_at > now()
    ORDER BY s.expires_at
  ) AS "earlierSecretsUntil"
`
const JOINS = 'LEFT JOIN domains d ON d.id = k.domain_id'

/** The newest first. */
export function listManagedKeys(
  db: Queryable,
  workspaceId: string,
  request: PageRequest & { readonly kind: KeyKind | null },
): Promise<Page<ManagedKey>> {
  return readPage<ManagedKey>(
    db,
    {
      columns: COLUMNS,
      from: 'api_keys k',
      joins: JOINS,
      where: 'k.workspace_id = $1 AND ($2::text IS NULL OR k.kind = $2)',
      order: newestFirst('k.id'),
      values: [workspaceId, request.kind],
    },
    request,
  )
}

/** Null if the workspace has no such key. */
export async function findManagedKey(db: Queryable, workspaceId: string, id: string): Promise<ManagedKey | null> {
  const { rows } = await db.query<ManagedKey>(
    `SELECT ${COLUMNS} FROM api_keys k ${JOINS} WHERE k.workspace_id = $1 AND k.id = $2`,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

export interface Rotation {
  readonly id: string
  readonly prefix: string
  /** How long the present secret stays valid. 0: it ends now, with all earlier ones. */
  readonly overlapSeconds: number
  readonly nowMs: number
}

export type RotateResult =
  /** `secretKey` is returned only here; it is not stored. */
  | { readonly kind: 'rotated'; readonly secretKey: string }
  | { readonly kind: 'not-found' }
  /** It is revoked or has expired. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'too-many-secrets' }
  /** The caller lacks scopes that it would get with the key. */
  | { readonly kind: 'beyond-rights'; readonly missing: readonly string[] }

interface LockedKey {
  readonly kind: KeyKind
  readonly scopes: readonly string[]
  readonly expiresAt: Date | null
  readonly hash: Buffer
  readonly keyPart: string
  readonly hasEnded: boolean
  readonly earlier: number
}

/** Locks the key, so that of two rotations at the same time each keeps the secret of the other. */
export function rotateKey(
  db: Db,
  caller: Pick<Caller, 'workspaceId' | 'scopes'>,
  { id, prefix, overlapSeconds, nowMs }: Rotation,
): Promise<RotateResult> {
  const { workspaceId } = caller
  return db.transaction(async (tx): Promise<RotateResult> => {
    const key = await lockKey(tx, workspaceId, id)
    if (key === null) return { kind: 'not-found' }
    const missing = scopesBeyond(key, caller)
    if (missing.length > 0) return { kind: 'beyond-rights', missing }
    if (key.hasEnded) return { kind: 'ended' }
    if (overlapSeconds > 0 && key.earlier >= MAX_EARLIER_SECRETS) return { kind: 'too-many-secrets' }
    const secretKey = generateKey(prefix, key.keyPart, key.kind)
    await tx.query('DELETE FROM api_key_secrets WHERE key_id = $1 AND ($2 OR expires_at <= now())', [
      id,
      overlapSeconds === 0,
    ])
    const until = new Date(nowMs + overlapSeconds * 1000)
    if (overlapSeconds > 0) await tx.query('INSERT INTO api_key_secrets VALUES ($1, $2, $3)', [key.hash, id, until])
    await tx.query('UPDATE api_keys SET secret_hash = $2 WHERE id = $1', [id, hashKey(secretKey)])
    await recordChange(tx, {
      kind: 'api_key',
      object: id,
      workspaceId,
      change: 'update',
      before: null,
      after: { earlier_secret_until: overlapSeconds > 0 ? until.toISOString() : null },
    })
    return { kind: 'rotated', secretKey }
  })
}

async function lockKey(tx: Queryable, workspaceId: string, id: string): Promise<LockedKey | null> {
  const { rows } = await tx.query<LockedKey>(
    sql`
      SELECT k.kind, k.scopes, k.expires_at AS "expiresAt", k.secret_hash AS hash, w.key_part AS "keyPart",
        NOT k.is_active OR coalesce(k.expires_at <= now(), false) AS "hasEnded",
        (SELECT count(*) FROM api_key_secrets s WHERE s.key_id = k.id AND s.expires_at > now()) AS earlier
      FROM api_keys k
      JOIN workspaces w ON w.id = k.workspace_id
      WHERE k.workspace_id = $1 AND k.id = $2
      FOR NO KEY UPDATE OF k
    `,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

const CREATES_SENDING_KEYS: KeyScope = 'api-keys:create'

/** What the key may do and the caller may not. A caller that may create sending keys may also see the secret of one. */
function scopesBeyond({ kind, scopes }: LockedKey, caller: Pick<Caller, 'scopes'>): readonly string[] {
  const needed = kind === 'regular' ? [CREATES_SENDING_KEYS] : scopes
  return needed.filter((scope) => !caller.scopes.includes(scope))
}

/** Ends a key for good, with all its secrets. All processes refuse it almost immediately. Idempotent. */
export async function revokeKey(db: Queryable, workspaceId: string, id: string): Promise<ManagedKey | null> {
  await db.query('UPDATE api_keys SET is_active = false WHERE workspace_id = $1 AND id = $2 AND is_active', [
    workspaceId,
    id,
  ])
  return findManagedKey(db, workspaceId, id)
}

export interface KeyChange {
  readonly name?: string | undefined
  /** In CIDR notation, canonical. */
  readonly allowedNetworks?: readonly string[] | undefined
  /** Of an Admin key, at least one. */
  readonly scopes?: readonly KeyScope[] | undefined
  /** Null: it is valid until it is revoked. */
  readonly expiresAt?: Date | null | undefined
}

export type ChangeKeyResult =
  | { readonly kind: 'changed' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'beyond-rights'; readonly missing: readonly string[] }
  /** Scopes of a Regular key, which has none. */
  | { readonly kind: 'no-scopes' }
  /** The caller may only restrict Admin keys. */
  | { readonly kind: 'may-not-extend' }

type KeyChanger = Pick<Caller, 'scopes' | 'permissions'>

/** As with a rotation, nobody changes a key that may do what they may not. `caller` null: the operator. */
export function changeKey(
  db: Db,
  { workspaceId, caller }: { readonly workspaceId: string; readonly caller: KeyChanger | null },
  id: string,
  change: KeyChange,
): Promise<ChangeKeyResult> {
  return db.transaction(async (tx): Promise<ChangeKeyResult> => {
    const key = await lockKey(tx, workspaceId, id)
    if (key === null) return { kind: 'not-found' }
    const refusal = caller === null ? null : checkChange(key, caller, change)
    if (refusal !== null) return refusal
    if (key.hasEnded) return { kind: 'ended' }
    if (change.scopes !== undefined && key.kind === 'regular') return { kind: 'no-scopes' }
    const { name, allowedNetworks, scopes, expiresAt } = change
    await tx.query(
      sql`
        UPDATE api_keys
        SET name = coalesce($2, name),
          allowed_networks = coalesce($3, allowed_networks),
          scopes = coalesce($4, scopes),
          expires_at = CASE WHEN $5::boolean THEN $6 ELSE expires_at END
        WHERE id = $1
      `,
      [id, name ?? null, allowedNetworks ?? null, scopes ?? null, expiresAt !== undefined, expiresAt ?? null],
    )
    return { kind: 'changed' }
  })
}

/** A permission of people (src/people/roles.ts). */
const EXTENDS_ADMIN_KEYS = 'admin-keys:create'

function checkChange(key: LockedKey, caller: KeyChanger, { scopes, expiresAt }: KeyChange): ChangeKeyResult | null {
  const added = (scopes ?? []).filter((scope) => !key.scopes.includes(scope))
  const missing = [...scopesBeyond(key, caller), ...added.filter((scope) => !caller.scopes.includes(scope))]
  if (missing.length > 0) return { kind: 'beyond-rights', missing }
  const isExtended = key.kind === 'admin' && (added.length > 0 || isLater(expiresAt, key.expiresAt))
  // a key has no permissions
  const mayExtend = caller.permissions?.includes(EXTENDS_ADMIN_KEYS) === true
  return isExtended && !mayExtend ? { kind: 'may-not-extend' } : null
}

function isLater(end: Date | null | undefined, present: Date | null): boolean {
  if (end === undefined || present === null) return false
  return end === null || end > present
}
