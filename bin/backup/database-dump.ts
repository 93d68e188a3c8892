/**
 * Reads the database of an installation for a backup: all tables as they were at one moment, in one snapshot, while
 * Mailstead goes on. COPY writes the rows; the tables themselves are made again by the migrations (decision 061). Table
 * locks as those of a SELECT keep migrations and the removal of partitions waiting, and nothing else. A partition that
 * is detached and not dropped yet is in the backup as one that is attached. The copy of partitions that are being
 * rewritten is not: its rows are in the partitions that it replaces.
 *
 * PostgreSQL goes away: the stream fails, and with it the backup. Tables that are created or removed until all locks
 * are held are found by a second look; then it begins again. The longest silence of PostgreSQL is not bounded: a slow
 * target stops COPY for as long as it likes.
 */
import { escapeIdentifier } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { UserError } from '#bin/supervisor/user-error.ts'
import { CONNECTION, PostgresClient } from '#src/stores/postgres-client.ts'
import { listMigrations } from '#src/stores/migrations.ts'
import { boundsOf, readPartitionName, REWRITE_MARK } from '#src/stores/partition-names.ts'
import { sql } from '#src/stores/sql.ts'
import { type ArchiveFile, type BackupDescription, partName, type TableDescription } from './archive-format.ts'

/** A part is in memory once or twice. */
const PART_BYTES = 4 * 1024 * 1024
/**
 * What a restore makes by itself; the changes of the last minutes, which only open pages wait for; and rewrites of
 * partitions, which begin again.
 */
const NOT_COPIED = [
  'migrations',
  'migrations_lock',
  'migration_steps',
  'changes',
  'partition_rewrites',
  'rewrite_notes',
]
const LOCK_WAIT = '60s'
const MAX_TRIES = 10
const UNDEFINED_TABLE = '42P01'

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
  const client = new PostgresClient({ ...CONNECTION, connectionString: databaseUrl, copiesOut: true })
  try {
    await client.connect()
    await client.openSession(CONNECTION.connectionTimeoutMillis)
    await client.query(LIMITS)
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

const LIMITS = sql`
  SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0;
  SET lock_timeout = '${LOCK_WAIT}'
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
    AND obj_description(c.oid, 'pg_class') IS DISTINCT FROM '${REWRITE_MARK}'
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
  const tables = await lockTables(client)
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

/** Begins the snapshot with all tables locked. */
async function lockTables(client: PostgresClient): Promise<TableDescription[]> {
  const list = async (): Promise<TableRow[]> => (await client.query<TableRow>(LIST_TABLES, [NOT_COPIED])).rows
  for (let tries = 1; ; tries++) {
    const known = (await list()).map(({ name }) => name)
    // the first statement that reads makes the snapshot: behind the locks
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const isLocked = await lock(client, known)
    const seen = isLocked ? await list() : []
    if (isLocked && seen.map(({ name }) => name).join() === known.join()) return describeTables(seen)
    await client.query('ROLLBACK')
    if (tries === MAX_TRIES)
      throw new UserError('Tables are created or removed all the time, so that none could be locked.', 'Try again.')
  }
}

/** False: one of them has been removed. */
async function lock(client: PostgresClient, names: readonly string[]): Promise<boolean> {
  try {
    await client.query(`LOCK TABLE ${names.map((name) => nameOf(name)).join(', ')} IN ACCESS SHARE MODE`)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === UNDEFINED_TABLE) return false
    throw error
  }
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

function describeTables(rows: readonly TableRow[]): TableDescription[] {
  const attached = rows.flatMap(({ name, of }) => (of === null ? [] : [readPartitionName(name) ?? []])).flat()
  return rows.flatMap(({ name, columns, of, bounds, storage }): TableDescription[] => {
    if (of !== null && bounds !== null) return [{ name, columns, partition: { of, bounds, storage } }]
    const named = readPartitionName(name)
    if (named === null) return [{ name, columns, partition: null }]
    const { table, from, to } = named
    // detached by somebody, and its weeks have partitions again
    if (attached.some((one) => one.table === table && one.from < to && from < one.to)) return []
    return [{ name, columns, partition: { of: table, bounds: `FOR VALUES ${boundsOf(named)}`, storage } }]
  })
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
