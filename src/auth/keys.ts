/**
 * Authenticates requests by API key (the keyring), and creates keys.
 *
 * The keyring caches callers for a few seconds, so that a request costs one SHA-256 and one Map lookup. PostgreSQL
 * notifies all processes of a change of a key, its domain or its workspace (migrations/002-key-cache.ts), which clears
 * the cache; without notifications a change takes effect when the entry expires. PostgreSQL unavailable: cached callers
 * continue, and for all others the call rejects (never "unknown key"). Unknown keys are cached briefly, up to a
 * maximum.
 */
import { timingSafeEqual } from 'node:crypto'
import { createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { createTtlCache } from '#src/concurrency/ttl-cache.ts'
import { sql } from '#src/stores/sql.ts'
import { hashKey, hasKeyFormat, type KeyKind, generateKey } from './key-format.ts'
import { listenForNotifications } from './notification-listener.ts'
import { findKeys, type StoredKey } from './key-lookup.ts'
import { readNetworks, type KeyNetwork } from './key-networks.ts'
import { createUsageRecorder } from './key-usage.ts'

/** The connected account that a regular key is bound to. */
export interface CallerAccount {
  readonly id: string
  readonly kind: 'smtp' | 'oauth'
  /** The sender addresses of the account, lower case, at least one. */
  readonly addresses: readonly string[]
}

/** The authenticated caller of a request; it may be a few seconds old. */
export interface Caller {
  /** Null: the operator, by a command. */
  readonly keyId: string | null
  readonly kind: KeyKind
  readonly workspaceId: string
  readonly scopes: readonly string[]
  /** What a person may do (`src/people/roles.ts`), in place of a key. */
  readonly permissions?: readonly string[]
  /** The sending domain that a regular key is bound to. */
  readonly domainId: string | null
  readonly domain: string | null
  readonly domainStatus: string | null
  /** The account that a regular key is bound to instead of a domain. */
  readonly account: CallerAccount | null
  readonly plan: string
  /** The address for `reply_to: true`. */
  readonly replyTo: string | null
  /** The operator suspended the whole workspace: its keys may do nothing. */
  readonly isSuspended: boolean
}

/** The caller whose API key was found. */
export interface KeyCaller extends Caller {
  readonly keyId: string
  /** Where it may be used; empty: everywhere. */
  readonly networks: readonly KeyNetwork[]
}

export interface Keyring {
  /**
   * Returns the caller; null for an unknown, deactivated or expired key.
   * @throws when the key is not cached and PostgreSQL is unavailable (`isDatabaseAway`).
   */
  authenticate(key: string): Promise<KeyCaller | null>
  stop(): Promise<void>
}

const CHANNEL = 'mailstead_keys'
const KNOWN_KEYS = { max: 50_000, ttlMs: 5000 }
const UNKNOWN_KEYS = { max: 10_000, ttlMs: 1000 }
const LOOKUPS = { max: 200, concurrency: 2 }

interface CachedKey {
  readonly hash: Buffer
  readonly caller: KeyCaller
  /** Milliseconds since the epoch; Infinity = never. */
  readonly expiresAt: number
}

function toCachedKey({ hash, expiresAt, allowedNetworks, ...fields }: StoredKey): CachedKey {
  const caller = { ...fields, networks: readNetworks(allowedNetworks) }
  return { hash, caller: Object.freeze(caller), expiresAt: expiresAt?.getTime() ?? Infinity }
}

export function createKeyring(ctx: Pick<Context, 'config' | 'db' | 'clock' | 'log'>): Keyring {
  const known = createTtlCache<CachedKey>(ctx.clock, KNOWN_KEYS)
  const unknown = createTtlCache<true>(ctx.clock, UNKNOWN_KEYS)
  const lookups = createBatcher((hashes: Buffer[]) => findKeys(ctx.db, hashes), LOOKUPS)
  const usage = createUsageRecorder(ctx)
  // running lookups; clearing the cache starts a new map, so that a lookup that started earlier is not cached
  let loads = new Map<string, Promise<CachedKey | null>>()

  function forgetAll(): void {
    known.clear()
    unknown.clear()
    loads = new Map()
  }

  async function load(name: string, hash: Buffer, generation: typeof loads): Promise<CachedKey | null> {
    try {
      const row = await lookups.add(hash)
      const entry = row === null ? null : toCachedKey(row)
      if (generation === loads && entry !== null) known.set(name, entry)
      if (generation === loads && entry === null) unknown.set(name, true)
      return entry
    } finally {
      generation.delete(name)
    }
  }

  function find(name: string, hash: Buffer): CachedKey | null | Promise<CachedKey | null> {
    const entry = known.get(name)
    if (entry !== undefined) return timingSafeEqual(entry.hash, hash) ? entry : null
    if (unknown.get(name) === true) return null
    const loading = loads.get(name) ?? load(name, hash, loads)
    loads.set(name, loading)
    return loading
  }

  const listener =
    ctx.config.databaseUrl === null
      ? null
      : listenForNotifications({ url: ctx.config.databaseUrl, channel: CHANNEL, log: ctx.log, onChange: forgetAll })
  return {
    async authenticate(key) {
      if (!hasKeyFormat(key)) return null
      const hash = hashKey(key)
      const entry = await find(hash.toString('latin1'), hash)
      if (entry === null || ctx.clock.now() >= entry.expiresAt) return null
      usage.record(entry.caller.keyId)
      return entry.caller
    },
    async stop() {
      await listener?.stop()
      await usage.stop()
    },
  }
}

/** The maximum counts only keys that are active and not expired. */
export const MAX_ADMIN_KEYS = 5

interface KeyRequest {
  readonly prefix: string
  readonly workspaceId: string
  readonly name: string
  readonly expiresAt?: Date | null
  /** In CIDR notation, canonical; empty: it may be used everywhere. */
  readonly allowedNetworks?: readonly string[]
}

/** An admin key has scopes; a regular key is bound to a domain of the workspace, or to a connected account. */
export type NewKey =
  | (KeyRequest & { readonly kind: 'admin'; readonly scopes: readonly string[] })
  | (KeyRequest & { readonly kind: 'regular'; readonly domainId: string })
  | (KeyRequest & { readonly kind: 'regular'; readonly accountId: string })

export type CreatedKey =
  /** `secretKey` is returned only here; it is not stored. */
  | { readonly kind: 'created'; readonly id: string; readonly secretKey: string; readonly createdAt: Date }
  | { readonly kind: 'no-workspace' }
  | { readonly kind: 'too-many-admin-keys'; readonly max: number }
  | { readonly kind: 'no-domain' }
  | { readonly kind: 'no-account' }
  | { readonly kind: 'domain-not-verified'; readonly domain: string; readonly status: string }

const LOCK_WORKSPACE = 'SELECT key_part FROM workspaces WHERE id = $1 FOR NO KEY UPDATE'

const COUNT_ADMIN = sql`
  SELECT count(*) AS n
  FROM api_keys
  WHERE workspace_id = $1 AND kind = 'admin' AND is_active AND (expires_at IS NULL OR expires_at > now())
`

const INSERT_KEY = sql`
  INSERT INTO api_keys (
    id, workspace_id, kind, name, secret_hash, expires_at, scopes, domain_id, account_id, allowed_networks
  )
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  RETURNING created_at
`

/** Creates a key. It locks the row of the workspace, so two concurrent calls cannot exceed the maximum. */
export function createKey(db: Db, request: NewKey): Promise<CreatedKey> {
  return db.transaction(async (tx) => {
    const {
      rows: [workspace],
    } = await tx.query<{ key_part: string }>(LOCK_WORKSPACE, [request.workspaceId])
    if (workspace === undefined) return { kind: 'no-workspace' }
    const refusal = await checkRequest(tx, request)
    if (refusal !== null) return refusal
    const id = newId()
    const secretKey = generateKey(request.prefix, workspace.key_part, request.kind)
    const binding = [
      request.kind === 'admin' ? request.scopes : [],
      'domainId' in request ? request.domainId : null,
      'accountId' in request ? request.accountId : null,
    ]
    const values = [
      id,
      request.workspaceId,
      request.kind,
      request.name,
      hashKey(secretKey),
      request.expiresAt ?? null,
      ...binding,
      request.allowedNetworks ?? [],
    ]
    const {
      rows: [row],
    } = await tx.query<{ created_at: Date }>(INSERT_KEY, values)
    return { kind: 'created', id, secretKey, createdAt: row?.created_at ?? new Date() }
  })
}

function checkRequest(tx: Queryable, request: NewKey): Promise<CreatedKey | null> {
  if (request.kind === 'admin') return checkAdminLimit(tx, request.workspaceId)
  return 'domainId' in request
    ? checkDomain(tx, request.workspaceId, request.domainId)
    : checkAccount(tx, request.workspaceId, request.accountId)
}

async function checkAccount(tx: Queryable, workspaceId: string, accountId: string): Promise<CreatedKey | null> {
  const { rows } = await tx.query(
    'SELECT 1 FROM connected_accounts WHERE id = $1 AND workspace_id = $2 FOR KEY SHARE',
    [accountId, workspaceId],
  )
  return rows.length > 0 ? null : { kind: 'no-account' }
}

async function checkAdminLimit(tx: Queryable, workspaceId: string): Promise<CreatedKey | null> {
  const {
    rows: [row],
  } = await tx.query<{ n: number }>(COUNT_ADMIN, [workspaceId])
  return (row?.n ?? 0) >= MAX_ADMIN_KEYS ? { kind: 'too-many-admin-keys', max: MAX_ADMIN_KEYS } : null
}

async function checkDomain(tx: Queryable, workspaceId: string, domainId: string): Promise<CreatedKey | null> {
  const {
    rows: [row],
  } = await tx.query<{ domain: string; status: string }>(
    sql`
      SELECT domain, verification_status AS status
      FROM domains
      WHERE id = $1 AND workspace_id = $2
      FOR SHARE
    `,
    [domainId, workspaceId],
  )
  if (row === undefined) return { kind: 'no-domain' }
  return row.status === 'verified' ? null : { kind: 'domain-not-verified', ...row }
}
