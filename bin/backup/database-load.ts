/**
 * Loads the rows of a backup into a schema of its own, beside the tables that are in use, and exchanges the two at the
 * end in one transaction. So a restore that fails, or a process that dies here, changes nothing: the next restore
 * removes what is left. The migrations that the backup had make the tables, those that it lacked change them after the
 * rows are there. Foreign keys are checked after all rows, and triggers do not run: what they computed is in the rows.
 */
import { escapeIdentifier } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { UserError } from '#bin/supervisor/user-error.ts'
import { commandActor } from '#bin/cli/context.ts'
import { recordRestore } from '#src/queue/restore-fence.ts'
import { CONNECTION, PostgresClient } from '#src/stores/postgres-client.ts'
import { listMigrations } from '#src/stores/migrations.ts'
import { migrate } from '#src/stores/migrate.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { BackupDescription, Manifest, TableDescription } from './archive-format.ts'
import { countText } from '#src/platform/plural.ts'

const SCHEMA = 'mailstead_restore'
const OLD_SCHEMA = 'mailstead_before_restore'

/** What the database of the target has. */
export interface TargetState {
  readonly kind: 'empty' | 'unused' | 'used' | 'foreign'
  /** Nodes with processes that reported in the last seconds. */
  readonly running: readonly string[]
  /** The newest change of it, as far as it is known. */
  readonly changedAt: Date | null
}

const COUNT_TABLES = sql`
  SELECT count(*) FILTER (WHERE relname = 'migrations') AS own, count(*) AS all
  FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
`
const READ_USE = sql`
  SELECT EXISTS (SELECT FROM workspaces) AS "isUsed", (SELECT beat_at FROM restore_fence) AS "changedAt"
`
const READ_RUNNING = sql`
  SELECT DISTINCT node
  FROM node_processes
  WHERE seen_at > now() - interval '15 seconds'
  ORDER BY node
`

export class DatabaseLoader {
  readonly #url: string
  readonly #client: PostgresClient
  readonly #columns = new Map<string, string>()
  #description: BackupDescription | null = null
  #foreignKeys: readonly string[] = []
  #open: { readonly table: string; readonly stream: ReturnType<typeof copyFrom>; readonly done: Promise<void> } | null =
    null
  readonly #rows = new Map<string, number>()

  private constructor(url: string, client: PostgresClient) {
    this.#url = url
    this.#client = client
  }

  static async connect(databaseUrl: string): Promise<DatabaseLoader> {
    const client = new PostgresClient({ ...CONNECTION, connectionString: databaseUrl })
    await client.connect()
    await client.openSession(CONNECTION.connectionTimeoutMillis)
    await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0')
    return new DatabaseLoader(databaseUrl, client)
  }

  async readState(): Promise<TargetState> {
    const { rows } = await this.#client.query<{ own: string; all: string }>(COUNT_TABLES)
    const none = { running: [], changedAt: null }
    if (Number(rows[0]?.all) === 0) return { kind: 'empty', ...none }
    if (Number(rows[0]?.own) === 0) return { kind: 'foreign', ...none }
    const used = await this.#client
      .query<{ isUsed: boolean; changedAt: Date | null }>(READ_USE)
      .catch(() => ({ rows: [{ isUsed: true, changedAt: null }] }))
    const running = await this.#client.query<{ node: string }>(READ_RUNNING).catch(() => ({ rows: [] }))
    return {
      kind: used.rows[0]?.isUsed === true ? 'used' : 'unused',
      running: running.rows.map(({ node }) => node),
      changedAt: used.rows[0]?.changedAt ?? null,
    }
  }

  /** Makes the tables of the backup, empty, in their own schema. */
  async prepare(description: BackupDescription): Promise<void> {
    requireKnown(description)
    this.#description = description
    try {
      await this.#client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; CREATE SCHEMA ${SCHEMA}`)
    } catch (error) {
      throw explainRights(error)
    }
    await migrate(this.#url, { schema: SCHEMA, only: description.migrations })
    await this.#client.query(`BEGIN; SET LOCAL search_path = ${SCHEMA}`)
    await this.#makePartitions(description.tables)
    await this.#dropForeignKeys()
    const all = await this.#listTables()
    for (const table of all) await this.#client.query(`ALTER TABLE ${escapeIdentifier(table)} DISABLE TRIGGER USER`)
    const own = all.filter((name) => !name.startsWith('migration')).map((name) => escapeIdentifier(name))
    await this.#client.query(`TRUNCATE ${own.join(', ')}`)
  }

  /** Adds a part of a table; the parts of a table come one after the other. */
  async load(table: string, data: Buffer): Promise<void> {
    if (this.#open?.table !== table) {
      await this.#endTable()
      this.#begin(table)
    }
    const open = this.#open
    if (open === null) throw new Error('no table is open')
    await new Promise<void>((resolve, reject) => {
      open.done.catch(reject)
      open.stream.write(data, (error) => (error ? reject(error) : resolve()))
    })
  }

  #begin(table: string): void {
    const columns = this.#columns.get(table)
    if (columns === undefined || this.#rows.has(table))
      throw new UserError(
        `The backup cannot be used: the parts of ${table} are not in order.`,
        'Use an earlier backup.',
      )
    const stream = this.#client.query(copyFrom(`COPY ${escapeIdentifier(table)} (${columns}) FROM STDIN`))
    const done = new Promise<void>((resolve, reject) => stream.once('finish', resolve).once('error', reject))
    done.catch(() => undefined)
    this.#rows.set(table, 0)
    this.#open = { table, stream, done }
  }

  async #endTable(): Promise<void> {
    const open = this.#open
    if (open === null) return
    this.#open = null
    open.stream.end()
    await open.done
    this.#rows.set(open.table, open.stream.rowCount)
  }

  /** After the last part: checks the rows, and commits the tables in their own schema. */
  async finish({ rows }: Manifest): Promise<void> {
    await this.#endTable()
    for (const [table, count] of Object.entries(rows))
      if ((this.#rows.get(table) ?? 0) !== count)
        throw new UserError(
          `The backup cannot be used: ${table} has ${countText(this.#rows.get(table) ?? 0, 'row')} ` +
            `instead of ${count}.`,
          'Use an earlier backup.',
        )
    for (const { name, value, isCalled } of this.#description?.sequences ?? [])
      await this.#client.query('SELECT setval($1::regclass, $2, $3)', [escapeIdentifier(name), value, isCalled])
    for (const statement of this.#foreignKeys) await this.#client.query(statement)
    for (const table of await this.#listTables())
      await this.#client.query(`ALTER TABLE ${escapeIdentifier(table)} ENABLE TRIGGER USER`)
    await this.#client.query('COMMIT')
    await migrate(this.#url, { schema: SCHEMA })
    await this.#client.query(`SET search_path = ${SCHEMA}`)
    for (const table of await this.#listTables()) await this.#client.query(`ANALYZE ${escapeIdentifier(table)}`)
    await this.#client.query('RESET search_path')
  }

  /** Puts the tables in the place of those in use, suspends mail, and records both; then removes the old tables. */
  async exchange(until: Date | null, command: string): Promise<{ readonly isSuspended: boolean }> {
    const tx: Queryable = {
      query: (statement, values) => this.#client.query(statement as string, values as unknown[]),
    }
    const from = new Date(this.#description?.snapshotAt ?? 0)
    try {
      await this.#client.query(`
        BEGIN;
        DROP SCHEMA IF EXISTS ${OLD_SCHEMA} CASCADE;
        ALTER SCHEMA public RENAME TO ${OLD_SCHEMA};
        ALTER SCHEMA ${SCHEMA} RENAME TO public;
        GRANT USAGE ON SCHEMA public TO PUBLIC;
        SET LOCAL search_path = public
      `)
      await this.#client.query(`SELECT set_config('mailstead.actor', $1, true)`, [
        JSON.stringify(commandActor(command)),
      ])
      const isSuspended = await recordRestore(tx, { from, until })
      await this.#client.query(END_ACCESS)
      await this.#client.query(RECORD_AUDIT, [from.toISOString(), JSON.stringify({ snapshot_at: from })])
      await this.#client.query('COMMIT')
      await this.#client.query(`DROP SCHEMA ${OLD_SCHEMA} CASCADE`)
      return { isSuspended }
    } catch (error) {
      throw explainRights(error)
    }
  }

  /** Removes what an unfinished restore has made. */
  async close(): Promise<void> {
    this.#open?.stream.destroy()
    await this.#client.query(`ROLLBACK`).catch(() => undefined)
    await this.#client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`).catch(() => undefined)
    await this.#client.end().catch(() => undefined)
  }

  async #makePartitions(tables: readonly TableDescription[]): Promise<void> {
    const { rows } = await this.#client.query<{ name: string }>(sql`
      SELECT c.relname AS name
      FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relispartition AND c.relkind = 'r'
    `)
    for (const { name } of rows) await this.#client.query(`DROP TABLE ${escapeIdentifier(name)}`)
    for (const { name, columns, partition } of tables) {
      this.#columns.set(name, columns.map((one) => escapeIdentifier(one)).join(', '))
      if (partition === null) continue
      const { of, bounds, storage } = partition
      const settings = storage.length === 0 ? '' : `WITH (${storage.join(', ')})`
      const [partOf, table] = [escapeIdentifier(of), escapeIdentifier(name)]
      // as src/stores/partitions.ts, so that indexes have the same names
      await this.#client.query(`CREATE TABLE ${table} (LIKE ${partOf} INCLUDING ALL) ${settings}`)
      await this.#client.query(`ALTER TABLE ${partOf} ATTACH PARTITION ${table} ${bounds}`)
    }
  }

  /** Remembers how to add them again. */
  async #dropForeignKeys(): Promise<void> {
    const { rows } = await this.#client.query<{ table: string; name: string; definition: string }>(sql`
      SELECT r.relname AS table, c.conname AS name, pg_get_constraintdef(c.oid) AS definition
      FROM pg_constraint c
      JOIN pg_class r ON r.oid = c.conrelid
      WHERE c.contype = 'f' AND c.conparentid = 0 AND c.connamespace = current_schema()::regnamespace
      ORDER BY 1, 2
    `)
    for (const { table, name } of rows)
      await this.#client.query(`ALTER TABLE ${escapeIdentifier(table)} DROP CONSTRAINT ${escapeIdentifier(name)}`)
    this.#foreignKeys = rows.map(
      ({ table, name, definition }) =>
        `ALTER TABLE ${escapeIdentifier(table)} ADD CONSTRAINT ${escapeIdentifier(name)} ${definition}`,
    )
  }

  async #listTables(): Promise<string[]> {
    const { rows } = await this.#client.query<{ name: string }>(sql`
      SELECT relname AS name
      FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
      ORDER BY 1
    `)
    return rows.map(({ name }) => name)
  }
}

/** Sessions that had ended, and links that were used, are in an older backup as if they were not. */
const END_ACCESS = sql`
  DELETE FROM user_sessions;
  DELETE FROM password_resets;
  DELETE FROM email_changes;
  DELETE FROM pending_logins;
  UPDATE invitations
  SET revoked_at = now()
  WHERE accepted_at IS NULL AND revoked_at IS NULL;
`
const RECORD_AUDIT = `SELECT record_audit('restore', $1, NULL, 'create', NULL, $2::jsonb)`

function requireKnown({ migrations, version }: BackupDescription): void {
  const known = listMigrations()
  const unknown = migrations.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new UserError(
      `The backup was made by Mailstead ${version}, whose database is newer than this program ` +
        `(${unknown.join(', ')}).`,
      'Restore it with that version.',
    )
}

function explainRights(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return code === '42501'
    ? new UserError(
        'The user of DATABASE_URL must own the database and its schema public, to replace the tables ' +
          `(${(error as Error).message}).`,
        'Change the owner: ALTER DATABASE … OWNER TO …',
      )
    : error
}
