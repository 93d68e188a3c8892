/**
 * Creates, finds, changes and removes the connected accounts of a workspace: SMTP credentials and OAuth mailboxes. The
 * secret is encrypted and never returned; only `credentials.ts` decrypts it, for the process that signs in.
 *
 * Creating an account locks the row of the workspace, so the limit is exact. New credentials start a new generation, so
 * that a late response to the old credentials does not pause the account; they also end a pause. A test of the old ones
 * proves nothing about them.
 */
import type { AccountLimits, Security } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { resume } from '#src/queue/suspensions.ts'
import { readPage, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { destinationOf } from './account-destination.ts'

export interface Account {
  readonly id: string
  readonly workspaceId: string
  readonly kind: 'smtp' | 'oauth'
  /** The OAuth provider; null for SMTP credentials. */
  readonly provider: string | null
  readonly name: string
  readonly host: string
  readonly port: number
  readonly security: Security
  readonly username: string
  /** Lower case, at least one; the first is the default sender address. */
  readonly addresses: readonly string[]
  readonly generation: number
  readonly accessExpiresAt: Date | null
  readonly state: 'active' | 'paused'
  readonly pausedReason: string | null
  readonly pausedAt: Date | null
  /** The last successful test of these credentials. */
  readonly verifiedAt: Date | null
  readonly limits: AccountLimits
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** `untested`: no test of its present SMTP credentials has succeeded. Its mail is attempted nevertheless. */
export const ACCOUNT_STATUSES = ['active', 'paused', 'untested'] as const
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]

/** The owner of an OAuth mailbox signed in, which proves more than a test. */
export function accountStatus({
  state,
  kind,
  verifiedAt,
}: Pick<Account, 'state' | 'kind' | 'verifiedAt'>): AccountStatus {
  return state === 'active' && kind === 'smtp' && verifiedAt === null ? 'untested' : state
}

/** The maximum per workspace. */
export const MAX_ACCOUNTS = 100

const COLUMNS = sql`
  id, workspace_id AS "workspaceId", kind, provider, name, host, port, security, username, addresses, generation,
  access_expires_at AS "accessExpiresAt", state, paused_reason AS "pausedReason", paused_at AS "pausedAt",
  verified_at AS "verifiedAt",
  json_build_object(
    'connections', connections, 'messagesPerConnection', messages_per_connection, 'messagesPerMinute',
    messages_per_minute
  ) AS limits,
  created_at AS "createdAt", updated_at AS "updatedAt"
`

export interface AccountCredentials extends Pick<Account, 'host' | 'port' | 'security' | 'username'> {
  /** The password or the refresh token. */
  readonly secret: string
}

export type NewAccount = AccountCredentials &
  Pick<Account, 'workspaceId' | 'kind' | 'provider' | 'name' | 'addresses' | 'limits'>

type StoreDeps = Pick<Context, 'db' | 'encryption' | 'clock'>

export type CreatedAccount =
  | { readonly kind: 'created'; readonly account: Account }
  | { readonly kind: 'too-many' | 'no-workspace' }

export function createAccount(ctx: StoreDeps, request: NewAccount): Promise<CreatedAccount> {
  return ctx.db.transaction(async (tx) => {
    const {
      rows: [workspace],
    } = await tx.query('SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [request.workspaceId])
    if (workspace === undefined) return { kind: 'no-workspace' }
    if ((await countAccounts(tx, request.workspaceId)) >= MAX_ACCOUNTS) return { kind: 'too-many' }
    const { limits } = request
    const {
      rows: [account],
    } = await tx.query<Account>(
      sql`
        INSERT INTO connected_accounts (
          id, workspace_id, kind, provider, name, host, port, security, username, addresses, secret, connections,
          messages_per_connection, messages_per_minute, created_at, updated_at
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)
        RETURNING ${COLUMNS}
      `,
      [
        newId(ctx.clock.now()),
        request.workspaceId,
        request.kind,
        request.provider,
        request.name,
        request.host,
        request.port,
        request.security,
        request.username,
        request.addresses,
        encryptSecret(ctx, request.secret),
        limits.connections,
        limits.messagesPerConnection,
        limits.messagesPerMinute,
        new Date(ctx.clock.now()),
      ],
    )
    if (account === undefined) throw new Error('an account was not stored')
    return { kind: 'created', account }
  })
}

export function encryptSecret({ encryption }: Pick<Context, 'encryption'>, secret: string): Buffer {
  return encryption.encrypt('account-secret', secret)
}

export function decryptSecret({ encryption }: Pick<Context, 'encryption'>, encrypted: Buffer): string {
  return encryption.decrypt('account-secret', encrypted).toString('utf8')
}

async function countAccounts(db: Queryable, workspaceId: string): Promise<number> {
  const {
    rows: [row],
  } = await db.query<{ count: number }>('SELECT count(*) FROM connected_accounts WHERE workspace_id = $1', [
    workspaceId,
  ])
  return row?.count ?? 0
}

/** Accounts of a workspace, the oldest first. */
export function readAccounts(db: Queryable, workspaceId: string, page: PageRequest): Promise<Page<Account>> {
  const order: ListOrder = { by: [{ sql: 'id', type: 'uuid' }], direction: 'ASC' }
  const listing = { columns: COLUMNS, from: 'connected_accounts', where: 'workspace_id = $1', order }
  return readPage<Account>(db, { ...listing, values: [workspaceId] }, page)
}

/** The oldest first; `workspaceId` null: accounts of all workspaces. */
export async function listAccounts(db: Queryable, workspaceId: string | null, limit: number): Promise<Account[]> {
  const { rows } = await db.query<Account>(
    sql`
      SELECT ${COLUMNS}
      FROM connected_accounts
      WHERE $1::uuid IS NULL OR workspace_id = $1
      ORDER BY id
      LIMIT $2
    `,
    [workspaceId, limit],
  )
  return rows
}

/** `workspaceId` null: the request is from the operator. */
export async function findAccount(db: Queryable, workspaceId: string | null, id: string): Promise<Account | null> {
  const { rows } = await db.query<Account>(
    `SELECT ${COLUMNS} FROM connected_accounts WHERE id = $1 AND ($2::uuid IS NULL OR workspace_id = $2)`,
    [id, workspaceId],
  )
  return rows[0] ?? null
}

/** Fields that are omitted do not change. */
export interface AccountChange {
  readonly name?: string | undefined
  readonly addresses?: readonly string[] | undefined
  readonly limits?: Partial<AccountLimits> | undefined
  /** New credentials: results of the old ones are ignored, and a pause ends. */
  readonly credentials?: AccountCredentials | undefined
}

/** Null when the account does not exist. */
export async function changeAccount(
  ctx: StoreDeps & Pick<Context, 'redis'>,
  { id, workspaceId }: Pick<Account, 'id' | 'workspaceId'>,
  { name, addresses, limits = {}, credentials }: AccountChange,
): Promise<Account | null> {
  const {
    rows: [account],
  } = await ctx.db.query<Account>(
    sql`
      UPDATE connected_accounts
      SET name = coalesce($3, name),
        addresses = coalesce($4, addresses),
        connections = coalesce($5, connections),
        messages_per_connection = coalesce($6, messages_per_connection),
        messages_per_minute = CASE WHEN $7 THEN $8 ELSE messages_per_minute END,
        updated_at = $9
      WHERE id = $1 AND workspace_id = $2
      RETURNING ${COLUMNS}
    `,
    [
      id,
      workspaceId,
      name ?? null,
      addresses ?? null,
      limits.connections ?? null,
      limits.messagesPerConnection ?? null,
      limits.messagesPerMinute !== undefined,
      limits.messagesPerMinute ?? null,
      new Date(ctx.clock.now()),
    ],
  )
  return account === undefined || credentials === undefined
    ? (account ?? null)
    : replaceCredentials(ctx, account, credentials)
}

/** Replaces the credentials: a pause ends, and waiting mail is sent. Null when the account does not exist. */
export async function replaceCredentials(
  ctx: StoreDeps & Pick<Context, 'redis'>,
  { id, workspaceId }: Pick<Account, 'id' | 'workspaceId'>,
  { host, port, security, username, secret }: AccountCredentials,
): Promise<Account | null> {
  const {
    rows: [account],
  } = await ctx.db.query<Account>(
    sql`
      UPDATE connected_accounts
      SET host = $3,
        port = $4,
        security = $5,
        username = $6,
        secret = $7,
        generation = generation + 1,
        access_token = NULL,
        access_expires_at = NULL,
        refresh_claim = NULL,
        refresh_until = NULL,
        state = 'active',
        paused_reason = NULL,
        paused_at = NULL,
        verified_at = NULL,
        test_id = NULL,
        test_asked_at = NULL,
        test_result = NULL,
        updated_at = $8
      WHERE id = $1 AND workspace_id = $2
      RETURNING ${COLUMNS}
    `,
    [id, workspaceId, host, port, security, username, encryptSecret(ctx, secret), new Date(ctx.clock.now())],
  )
  if (account === undefined) return null
  await resume(ctx, destinationOf(id))
  return account
}

/**
 * Deletes the account and its keys; its queued mail fails when it is claimed. False when the account does not exist.
 */
export async function removeAccount(
  ctx: Pick<Context, 'db' | 'redis'>,
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const { rowCount } = await ctx.db.query('DELETE FROM connected_accounts WHERE id = $1 AND workspace_id = $2', [
    id,
    workspaceId,
  ])
  if (rowCount !== 1) return false
  await resume(ctx, destinationOf(id))
  return true
}
