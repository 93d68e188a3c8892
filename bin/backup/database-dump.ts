/**
 * Reads the database of an installation for a backup: all tables as they were at one moment, in one snapshot, while
 * Mailstead goes on. COPY writes the rows; the tables themselves are made again by the migrations (decision 061). Table
 * locks as those of a SELECT keep migrations and the removal of partitions waiting, and nothing else.
 *
 * PostgreSQL goes away: the stream fails, and with it the backup. A table that is removed while the locks are acquired
 * is an error too; the command can be repeated. The longest silence of PostgreSQL is not bounded: a slow target stops
 * COPY for as long as it likes.
 */
import { escapeIdentifier } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { UserError } from '#bin/supervisor/user-error.ts'
import { CONNECTION, PostgresClient } from '#src/stores/postgres-client.ts'
import { listMigrations } from '#src/stores/migrations.ts'
import { sql } from '#src/stores/sql.ts'
import { type ArchiveFile, type BackupDescription, partName, type TableDescription } from './archive-format.ts'

/** A part is in memory once or twice. */
const PART_BYTES = 4 * 1024 * 1024
/** What a restore makes by itself, and the changes of the last minutes, which only open pages wait for. */
const NOT_COPIED = ['migrations', 'migrations_lock', 'migration_steps', 'changes']
const LOCK_WAIT = '60s'

export type DatabaseDescription = Omit<BackupDescription, 'format' | 'version' | 'node' | 'masterKeys'>

export interface DatabaseSnapshot {
  readonly description: DatabaseDescription
  /** The rows of all tables in parts, once. */
  readRows(): AsyncGenerator<ArchiveFile>
  /** The rows read of each table. */
  readonly rows: Readonly<Record<string, number>>
  close(): Promise<void>
}

/** Begins a snapshot. @throws UserError if the database is not migrated, or is newer than this program. */
export async function openSnapshot(databaseUrl: string): Promise<DatabaseSnapshot> {
  const client = new PostgresClient({ ...CONNECTION, connectionString: databaseUrl })
  try {
    await client.connect()
    await client.openSession(CONNECTION.connectionTimeoutMillis)
    await client.query(BEGIN)
    const description = await describe(client)
    const rows: Record<string, number> = {}
    return {
      description,
      rows,
      readRows: () => readTables(client, description.tables, rows),
      close: () => client.end(),
    }
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

const BEGIN = sql`
  SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0;
  SET lock_timeout = '${LOCK_WAIT}';
  BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
`
const FIND_MIGRATIONS = `SELECT to_regclass('migrations') IS NOT NULL AS "isThere"`
const READ_MOMENT = sql`
  SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "snapshotAt",
    current_setting('server_version') AS postgres
`
const LIST_TABLES = sql`
  SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns, p.relname AS of,
    pg_get_expr(c.relpartbound, c.oid) AS bounds, coalesce(c.reloptions, '{}') AS storage
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
  LEFT JOIN pg_class p ON p.oid = i.inhparent
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($1)
  GROUP BY c.oid, p.relname
  ORDER BY c.relname
`
const LIST_SEQUENCES = sql`
  SELECT relname AS name
  FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'S' AND relname NOT LIKE 'migration%'
  ORDER BY relname
`

interface TableRow {
  readonly name: string
  readonly columns: string[]
  readonly of: string | null
  readonly bounds: string | null
  readonly storage: string[]
}

async function describe(client: PostgresClient): Promise<DatabaseDescription> {
  const migrations = await readMigrations(client)
  const tables = (await client.query<TableRow>(LIST_TABLES, [NOT_COPIED])).rows.map(tableOf)
  await client.query(`LOCK TABLE ${tables.map(({ name }) => nameOf(name)).join(', ')} IN ACCESS SHARE MODE`)
  const [moment] = (await client.query<{ snapshotAt: string; postgres: string }>(READ_MOMENT)).rows
  if (moment === undefined) throw new Error('PostgreSQL returned no row')
  const names = (await client.query<{ name: string }>(LIST_SEQUENCES)).rows
  const sequences: BackupDescription['sequences'] = []
  for (const { name } of names) {
    const { rows } = await client.query<{ value: string; isCalled: boolean }>(
      `SELECT last_value::text AS value, is_called AS "isCalled" FROM ${nameOf(name)}`,
    )
    if (rows[0] !== undefined) sequences.push({ name, value: Number(rows[0].value), isCalled: rows[0].isCalled })
  }
  return { ...moment, migrations, tables, sequences }
}

async function readMigrations(client: PostgresClient): Promise<string[]> {
  const found = await client.query<{ isThere: boolean }>(FIND_MIGRATIONS)
  if (found.rows[0]?.isThere !== true)
    throw new UserError('There is no database of Mailstead at DATABASE_URL: nothing to back up.', 'Check DATABASE_URL.')
  const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY name')
  const known = listMigrations()
  const unknown = rows.map(({ name }) => name).filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new UserError(
      `The database is newer than this program (${unknown.join(', ')}).`,
      'Make the backup with the newer program.',
    )
  return rows.map(({ name }) => name)
}

function tableOf({ name, columns, of, bounds, storage }: TableRow): TableDescription {
  return { name, columns, partition: of === null || bounds === null ? null : { of, bounds, storage } }
}

function nameOf(name: string): string {
  return `public.${escapeIdentifier(name)}`
}

async function* readTables(
  client: PostgresClient,
  tables: readonly TableDescription[],
  counts: Record<string, number>,
): AsyncGenerator<ArchiveFile> {
  for (const { name, columns } of tables) {
    const stream = client.query(
      copyTo(`COPY ${nameOf(name)} (${columns.map((one) => escapeIdentifier(one)).join(', ')}) TO STDOUT`),
    )
    let part = 0
    for await (const data of partsOf(stream as AsyncIterable<Buffer>)) yield { name: partName(name, ++part), data }
    counts[name] = stream.rowCount
  }
}

async function* partsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    held.push(chunk)
    bytes += chunk.length
    if (bytes < PART_BYTES) continue
    yield Buffer.concat(held)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held)
}
