/**
 * Migrates a database to this version: runs the pending migrations of `migrations/` in order, creates the partitions of
 * the coming weeks and renumbers restored events. An advisory lock, which ends with its session, lets one process do
 * this at a time. Running it again changes nothing, and continues what was interrupted; it refuses after an undo that
 * was interrupted, until that is finished. The partitions are those of PostgreSQL's clock. It does not stop mail:
 * migration-session.ts says how.
 *
 * Contract migrations wait while a process of an earlier version reports itself.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import createKnex, { type Knex } from 'knex'
import { escapeIdentifier, type Client } from 'pg'
import { compareMigrations, isContract, MIGRATIONS } from './migrations.ts'
import {
  CREATE_STEP_TABLE,
  type MigrationModule,
  runSteps,
  type StepListener,
  stepsOf,
  UNDO,
  undoStepsOf,
} from './migration-runner.ts'
import { createMigrationSession, type MigrationSession, type SessionOptions } from './migration-session.ts'
import type { MigrationStep } from './migration-steps.ts'
import { compareVersions } from '#src/platform/version.ts'
import { CONNECTION, explainConnectError, PostgresClient } from './postgres-client.ts'
import { ensurePartitions } from './partitions.ts'
import { renumberRestoredEvents } from './restored-events.ts'

// Any number of processes may start together: one migrates, the others wait. "MAIL" in ASCII.
const LOCK = 0x4d41494c
const LOCK_POLL_MS = 200

export interface MigrateOptions extends SessionOptions {
  /** Only the migrations up to this one, for tests and measurements. No partitions are created then. */
  readonly through?: string
  /** Another schema than `public`, for a restore. */
  readonly schema?: string
  /** Only these migrations, as a backup had them. No partitions are created then. */
  readonly only?: readonly string[]
  readonly onStep?: StepListener
}

export interface MigrateResult {
  readonly applied: readonly string[]
  /** Contract migrations that wait for processes of an earlier version to end. */
  readonly waiting: readonly WaitingMigration[]
}

export interface WaitingMigration {
  readonly migration: string
  /** The running versions that still use what it removes. */
  readonly versions: readonly string[]
}

/** Undoing a migration was interrupted: a part of what it created is gone, and it is still recorded as applied. */
class UndoInterruptedError extends Error {
  override readonly name = 'UndoInterruptedError'

  constructor(migration: string, before: string | undefined) {
    const command =
      before === undefined
        ? 'restore a backup'
        : `run mailstead upgrade --undo-to ${fileless(before)} --yes, with all roles stopped`
    super(`undoing ${fileless(migration)} was interrupted, and parts of it are missing. To finish it, ${command}`)
  }
}

const fileless = (name: string): string => name.replace(/\.ts$/, '')

/** The database was changed by a later version, and lacks what this version needs. */
class DatabaseTooNewError extends Error {
  override readonly name = 'DatabaseTooNewError'

  constructor(migrations: readonly string[]) {
    super(
      `a later version has removed parts of this database that this version needs (${migrations.join(', ')}). ` +
        'Run the later version, or restore a backup from before its upgrade',
    )
  }
}

/**
 * @throws when the database cannot be reached or a migration fails; a failed step is rolled back, and the next run
 * continues with it. MigrationBlockedError if others hold a lock for too long, DatabaseTooNewError,
 * UndoInterruptedError.
 */
export function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<MigrateResult> {
  const work = async ({ knex, holder }: Migrator): Promise<MigrateResult> => {
    const serverMs = await prepare(knex, holder, options.schema)
    const result = await applyPending({ knex, holder }, options)
    if (options.through === undefined && options.only === undefined) {
      await ensurePartitions((statement) => holder.query(statement), serverMs)
      await renumberRestoredEvents((statement) => holder.query(statement))
    }
    return result
  }
  return withMigrator(databaseUrl, work, options.schema)
}

/**
 * Undoes the migrations after the named one, the latest first. Nothing is changed if one of them cannot be undone.
 * @throws as `migrate`.
 */
export function undoMigrations(databaseUrl: string, after: string, options: MigrateOptions = {}): Promise<string[]> {
  return withMigrator(databaseUrl, async ({ knex, holder }) => {
    await prepare(knex, holder)
    const applied = await readApplied(knex)
    const undone = applied.filter((name) => name > after).toReversed()
    const steps = await Promise.all(undone.map(async (name) => undoStepsOf(await loadMigration(name))))
    const session = createMigrationSession(knex, holder, options)
    for (const [i, name] of undone.entries()) {
      const source = asSource([name], () => runUndo(session, name, steps[i] ?? [], options.onStep))
      await knex.migrate.down({ ...settings(source), name })
      await forgetFinishedUndo(knex)
    }
    return undone
  })
}

/**
 * Once the first step is undone (runSteps), the steps that were applied are not recorded any more: otherwise `migrate`
 * would find nothing to do after the undo, and record the migration as applied.
 */
async function runUndo(
  session: MigrationSession,
  name: string,
  steps: readonly MigrationStep[],
  onStep: StepListener | undefined,
): Promise<void> {
  await runSteps(session, undoOf(name), steps, onStep)
  await session.knex('migration_steps').where('migration', name).delete()
}

const undoOf = (name: string): string => `${UNDO}${name}`

/** The migrations of which some steps are undone, whether or not the rest was. */
async function readUndoing(knex: Knex): Promise<string[]> {
  const rows = await knex<{ migration: string }>('migration_steps')
    .distinct('migration')
    .where('migration', 'like', `${UNDO}%`)
  return rows.map(({ migration }) => migration.slice(UNDO.length))
}

/** Deletes the steps of an undo that has finished: its migration is not applied any more. */
async function forgetFinishedUndo(knex: Knex): Promise<void> {
  const applied = await readApplied(knex)
  const finished = (await readUndoing(knex)).filter((name) => !applied.includes(name))
  await knex('migration_steps').whereIn('migration', finished.map(undoOf)).delete()
}

export function loadMigration(name: string): Promise<MigrationModule> {
  return import(join(MIGRATIONS, name)) as Promise<MigrationModule>
}

interface Migrator {
  readonly knex: Knex
  /** Holds the advisory lock, and watches the migration. */
  readonly holder: PostgresClient
}

async function withMigrator<T>(
  databaseUrl: string,
  work: (migrator: Migrator) => Promise<T>,
  schema?: string,
): Promise<T> {
  const holder = new PostgresClient({ ...CONNECTION, connectionString: databaseUrl })
  const knex = createKnex({
    client: 'pg',
    connection: databaseUrl,
    pool: { min: 0, max: 2, afterCreate: unlimited },
    ...(schema === undefined ? {} : { searchPath: [schema] }),
  })
  await holder.connect().catch((error: unknown) => {
    throw explainConnectError(error)
  })
  try {
    return await work({ knex, holder })
  } finally {
    await knex.destroy()
    await holder.end()
  }
}

/** The role may have limits, which would end a long index build. A brief step sets its own. */
function unlimited(connection: Client, done: (error: Error | null) => void): void {
  connection.query('SET lock_timeout = 0; SET statement_timeout = 0', (error: Error | null) => done(error))
}

/** Returns the time of PostgreSQL when this process holds the lock. */
async function prepare(knex: Knex, holder: PostgresClient, schema?: string): Promise<number> {
  const { serverMs } = await holder.openSession(CONNECTION.connectionTimeoutMillis)
  await lockMigrations(holder)
  if (schema !== undefined) await holder.query(`SET search_path = ${escapeIdentifier(schema)}`)
  // the advisory lock ends with its session; knex's own lock table stays locked after a crash, so it is unlocked first
  await knex.migrate.forceFreeMigrationsLock(settings(asSource([], () => Promise.resolve())))
  await holder.query(CREATE_STEP_TABLE)
  await forgetFinishedUndo(knex)
  return serverMs
}

/** Not `pg_advisory_lock`: a statement that waits has a snapshot, for whose end a concurrent index build waits. */
async function lockMigrations(holder: PostgresClient): Promise<void> {
  for (;;) {
    const { rows } = await holder.query<{ isHeld: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS "isHeld"`)
    if (rows[0]?.isHeld === true) return
    await sleep(LOCK_POLL_MS)
  }
}

async function applyPending({ knex, holder }: Migrator, options: MigrateOptions): Promise<MigrateResult> {
  const alreadyApplied = await readApplied(knex)
  const { pending, incompatible } = compareMigrations(alreadyApplied)
  const [undoing] = (await readUndoing(knex)).toSorted()
  if (undoing !== undefined)
    throw new UndoInterruptedError(undoing, alreadyApplied.filter((one) => one < undoing).at(-1))
  if (incompatible.length > 0) throw new DatabaseTooNewError(incompatible)
  const session = createMigrationSession(knex, holder, options)
  const applied: string[] = []
  const waiting: WaitingMigration[] = []
  for (const name of pending.filter((one) => isChosen(one, options))) {
    const module = await loadMigration(name)
    const versions = isContract(name) ? await versionsBefore(holder, module.unusedSince) : []
    if (versions.length > 0) {
      waiting.push({ migration: name, versions })
      continue
    }
    const source = asSource([name], () => runSteps(session, name, stepsOf(module), options.onStep))
    await knex.migrate.up({ ...settings(source), name })
    applied.push(name)
  }
  return { applied, waiting }
}

function isChosen(name: string, { through, only }: MigrateOptions): boolean {
  return (through === undefined || name <= through) && (only === undefined || only.includes(name))
}

async function readApplied(knex: Knex): Promise<string[]> {
  if (!(await knex.schema.hasTable('migrations'))) return []
  return (await knex<{ name: string }>('migrations').select('name').orderBy('name')).map(({ name }) => name)
}

/** Versions older than the given one that run, or ran until a moment ago. */
async function versionsBefore(holder: PostgresClient, version: string | undefined): Promise<string[]> {
  if (version === undefined) throw new Error('a contract migration must export unusedSince')
  const { rows } = await holder.query<{ version: string }>(
    `SELECT DISTINCT version FROM node_processes WHERE seen_at > now() - interval '${RECENT}'`,
  )
  return rows.map((row) => row.version).filter((running) => compareVersions(running, version) < 0)
}

/** A process that has not reported for this long has ended. */
const RECENT = '5 minutes'

/** Knex records what is applied; the steps have transactions of their own. */
function settings(migrationSource: Knex.MigrationSource<string>): Knex.MigratorConfig {
  return { migrationSource, tableName: 'migrations', disableMigrationsListValidation: true }
}

function asSource(names: readonly string[], run: () => Promise<void>): Knex.MigrationSource<string> {
  return {
    getMigrations: () => Promise.resolve([...names]),
    getMigrationName: (name) => name,
    getMigration: () => Promise.resolve({ up: run, down: run, config: { transaction: false } }),
  }
}
