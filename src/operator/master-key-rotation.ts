/**
 * Encrypts what is stored with the current master key again, after the key was replaced. It works in slices, each in a
 * transaction of its own, so that it blocks nobody for long, can be ended at any time, and continues where it ended:
 * each value names its key. All processes read a value with either key meanwhile, as long as they have both.
 *
 * A value that no valid key decrypts is left as it is and counted. A row that another process changes at the same time
 * waits for the slice; its new value has the current key already.
 */
import type { Encryption } from '#src/crypto/encryption.ts'
import type { Purpose } from '#src/crypto/purposes.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface EncryptedColumn {
  readonly table: string
  /** A column of type uuid that identifies a row. */
  readonly key: string
  readonly column: string
  readonly purpose: Purpose
}

/** Every column that is encrypted. */
export const ENCRYPTED_COLUMNS: readonly EncryptedColumn[] = [
  { table: 'dkim_keys', key: 'id', column: 'private_key', purpose: 'dkim' },
  { table: 'webhook_endpoints', key: 'id', column: 'secret', purpose: 'webhook' },
  { table: 'webhook_endpoints', key: 'id', column: 'previous_secret', purpose: 'webhook' },
  { table: 'automation_webhook_secrets', key: 'workspace_id', column: 'secret', purpose: 'webhook' },
  { table: 'automation_webhook_secrets', key: 'workspace_id', column: 'previous_secret', purpose: 'webhook' },
  { table: 'connected_accounts', key: 'id', column: 'secret', purpose: 'account-secret' },
  { table: 'connected_accounts', key: 'id', column: 'access_token', purpose: 'account-secret' },
  { table: 'login_methods', key: 'id', column: 'encrypted', purpose: 'totp-secret' },
  { table: 'oauth_states', key: 'id', column: 'verifier', purpose: 'oauth-verifier' },
  { table: 'unconfirmed_grants', key: 'id', column: 'token', purpose: 'unconfirmed-grant' },
  { table: 'acme_accounts', key: 'id', column: 'private_key', purpose: 'acme-account' },
  { table: 'certificates', key: 'id', column: 'web_private_key', purpose: 'certificate-web' },
  { table: 'certificates', key: 'id', column: 'smtp_private_key', purpose: 'certificate-smtp' },
]

const SLICE = 200
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

export interface RotationContext {
  readonly db: Pick<Db, 'query' | 'transaction'>
  readonly encryption: Pick<Encryption, 'encrypt' | 'decrypt' | 'keyId'>
}

export interface ColumnRotation {
  readonly table: string
  readonly column: string
  readonly reencrypted: number
  /** Values that no valid key decrypts. */
  readonly unreadable: number
}

/** Stops between two slices when the signal is aborted. */
export async function reencryptAll(ctx: RotationContext, signal?: AbortSignal): Promise<ColumnRotation[]> {
  const done: ColumnRotation[] = []
  for (const column of ENCRYPTED_COLUMNS) done.push(await reencryptColumn(ctx, column, signal))
  return done
}

async function reencryptColumn(
  ctx: RotationContext,
  column: EncryptedColumn,
  signal: AbortSignal | undefined,
): Promise<ColumnRotation> {
  let [reencrypted, unreadable, after] = [0, 0, FIRST_ID]
  for (let slice: Slice | null = null; signal?.aborted !== true;) {
    slice = await ctx.db.transaction((tx) => reencryptSlice(ctx, tx, column, after))
    reencrypted += slice.reencrypted
    unreadable += slice.unreadable
    if (slice.last === null) break
    after = slice.last
  }
  return { table: column.table, column: column.column, reencrypted, unreadable }
}

interface Slice {
  readonly reencrypted: number
  readonly unreadable: number
  /** The last row that was read; null after the end. */
  readonly last: string | null
}

async function reencryptSlice(
  { encryption }: RotationContext,
  tx: Queryable,
  { table, key, column, purpose }: EncryptedColumn,
  after: string,
): Promise<Slice> {
  const { rows } = await tx.query<{ id: string; value: Buffer }>(
    sql`
      SELECT ${key} AS id, ${column} AS value
      FROM ${table}
      WHERE ${key} > $1 AND ${hasValue(column)} AND ${keyIdOf(column)} IS DISTINCT FROM $2
      ORDER BY ${key}
      LIMIT ${SLICE}
      FOR UPDATE
    `,
    [after, encryption.keyId.toString('hex')],
  )
  const values = rows.flatMap(({ id, value }) => {
    const plain = decryptOrNull(encryption, purpose, value)
    return plain === null ? [] : [{ id, value: encryption.encrypt(purpose, plain) }]
  })
  if (values.length > 0)
    await tx.query(
      sql`
        UPDATE ${table} t
        SET ${column} = v.value
        FROM unnest($1::uuid[], $2::bytea[]) AS v (id, value)
        WHERE t.${key} = v.id
      `,
      [values.map(({ id }) => id), values.map(({ value }) => value)],
    )
  return { reencrypted: values.length, unreadable: rows.length - values.length, last: rows.at(-1)?.id ?? null }
}

function decryptOrNull(encryption: Pick<Encryption, 'decrypt'>, purpose: Purpose, value: Buffer): Buffer | null {
  try {
    return encryption.decrypt(purpose, value)
  } catch {
    return null
  }
}

/** SQL: the key id of a value in hex; null for values of versions that stored none (src/crypto/encryption.ts). */
function keyIdOf(column: string): string {
  const version = `encode(substring(${column} FROM 1 FOR 1), 'hex')`
  return `CASE WHEN ${version} IN ('03', '04') THEN encode(substring(${column} FROM 2 FOR 4), 'hex') END`
}

/** SQL: an empty value was erased, as the private half of a DKIM key that is no longer used. */
function hasValue(column: string): string {
  return `octet_length(${column}) > 0`
}

/** How many values each master key encrypts, by key id; null: values of earlier versions, which name no key. */
export async function countByKey(db: Queryable): Promise<ReadonlyMap<string | null, number>> {
  const counts = new Map<string | null, number>()
  for (const { table, column } of ENCRYPTED_COLUMNS) {
    const { rows } = await db.query<{ id: string | null; count: number }>(sql`
      SELECT ${keyIdOf(column)} AS id, count(*)::integer AS count
      FROM ${table}
      WHERE ${hasValue(column)}
      GROUP BY 1
    `)
    for (const { id, count } of rows) counts.set(id, (counts.get(id) ?? 0) + count)
  }
  return counts
}
