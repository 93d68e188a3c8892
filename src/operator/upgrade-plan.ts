/**
 * The plan of an upgrade: which migrations are pending and what each does to a running installation, which processes
 * run which version, in which order to replace them, and what can be undone. It changes nothing. It also works on a
 * database of an earlier version, which may lack the table of the processes.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareVersions } from '#src/platform/version.ts'
import type { Queryable } from '#src/stores/db.ts'
import { loadMigration } from '#src/stores/migrate.ts'
import { stepsOf } from '#src/stores/migration-runner.ts'
import { downSql, findLosses } from '#src/stores/migration-sql.ts'
import { compareMigrations, isContract, MIGRATIONS } from '#src/stores/migrations.ts'
import { sql } from '#src/stores/sql.ts'

/**
 * Consumers before producers: a role of the new version may write what only the new version of its readers understands.
 * On the way back the other way round.
 */
export const ROLE_ORDER = ['worker', 'outbound', 'sandbox', 'inbound', 'submission', 'api'] as const

export interface VersionedProcess {
  readonly node: string
  readonly roles: readonly string[]
  readonly version: string
  readonly isSilent: boolean
}

export interface PlannedMigration {
  readonly migration: string
  readonly phase: 'expand' | 'contract'
  readonly steps: readonly { readonly text: string; readonly isLong: boolean }[]
  /** It is one brief transaction, and may need a stop on a large database. */
  readonly isOneStep: boolean
  /** The longest that readers and writers waited for it at `measuredRows`; null: not measured. */
  readonly blocksMs: number | null
  readonly tookSeconds: number | null
  /** Why it cannot be undone; null: it can. */
  readonly cannotUndo: string | null
  /** What undoing it deletes. */
  readonly undoDeletes: readonly string[]
  /** Running versions that a contract migration waits for. */
  readonly waitsFor: readonly string[]
}

export interface UpgradePlan {
  readonly version: string
  readonly measuredRows: number | null
  readonly migrations: readonly PlannedMigration[]
  readonly processes: readonly VersionedProcess[]
  /** Roles with a process of another version, in the order to replace them. */
  readonly replace: readonly string[]
  /** Why the upgrade is not possible as it is. */
  readonly problems: readonly string[]
  /** What may delay it. */
  readonly warnings: readonly string[]
}

/** Whether anything is to be done. */
export function isFinished({ migrations, replace, problems }: UpgradePlan): boolean {
  return migrations.length === 0 && replace.length === 0 && problems.length === 0
}

export async function planUpgrade(db: Queryable, version: string): Promise<UpgradePlan> {
  const state = compareMigrations(await readApplied(db))
  const processes = await readProcesses(db)
  const measured = readMeasured()
  const versions = [...new Set(processes.map((one) => one.version))]
  const pending = await Promise.all(state.pending.map((name) => describe(name, versions, measured)))
  return {
    version,
    measuredRows: measured?.rows ?? null,
    // what processes of this version prevent belongs to the upgrade to a later one
    migrations: pending.filter(({ waitsFor }) => !waitsFor.includes(version)),
    processes,
    replace: rolesToReplace(processes, version),
    problems: [
      ...state.incompatible.map((name) => `${name} of a later version has removed what this version needs`),
      ...versions.filter((running) => !mayRunBeside(running, version)).map((running) => notBeside(running, version)),
    ],
    warnings: [
      ...state.unknown
        .filter((name) => !isContract(name))
        .map((name) => `${name} was applied by a later version; this version runs with it`),
      ...(state.pending.length > 0 ? await readLongTransactions(db) : []),
    ],
  }
}

/** In the order in which the roles are replaced. */
export function rolesToReplace(processes: readonly VersionedProcess[], version: string): string[] {
  const old = new Set(processes.filter((one) => one.version !== version).flatMap(({ roles }) => roles))
  const known: readonly string[] = ROLE_ORDER
  return [...known.filter((role) => old.has(role)), ...[...old].filter((role) => !known.includes(role)).toSorted()]
}

/** Versions of one major number whose minor numbers differ by at most one (docs/reference/compatibility.md). */
export function mayRunBeside(running: string, version: string): boolean {
  const [[major, minor], [ownMajor, ownMinor]] = [numbersOf(running), numbersOf(version)]
  return major === ownMajor && Math.abs(minor - ownMinor) <= 1
}

function numbersOf(version: string): [major: number, minor: number] {
  const [major = NaN, minor = NaN] = version.split('.').map(Number)
  return [major, minor]
}

const notBeside = (running: string, version: string): string =>
  compareVersions(running, version) < 0
    ? `processes of ${running} run, and ${version} may run beside the minor version before it only: ` +
      'upgrade to the versions between one after the other, or stop all roles first'
    : `processes of ${running} run, which is more than one minor version newer than ${version}`

async function describe(
  name: string,
  versions: readonly string[],
  measured: Measured | null,
): Promise<PlannedMigration> {
  const module = await loadMigration(name)
  const found = measured?.migrations[name]
  const { unusedSince, cannotUndo = null } = module
  return {
    migration: name.replace(/\.ts$/, ''),
    phase: isContract(name) ? 'contract' : 'expand',
    steps: stepsOf(module).map(({ describe: text, isLong }) => ({ text, isLong })),
    isOneStep: module.steps === undefined,
    blocksMs: found?.blocksMs ?? null,
    tookSeconds: found?.seconds ?? null,
    cannotUndo,
    undoDeletes: cannotUndo === null ? findLosses(await downSql(module)) : [],
    waitsFor: unusedSince === undefined ? [] : versions.filter((running) => compareVersions(running, unusedSince) < 0),
  }
}

interface Measured {
  readonly rows: number
  readonly migrations: Readonly<Record<string, { readonly seconds: number; readonly blocksMs: number } | undefined>>
}

/** What bench/migrations has measured; null in a package without it. */
function readMeasured(): Measured | null {
  const file = join(MIGRATIONS, 'measured.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Measured) : null
}

async function hasTable(db: Queryable, table: string): Promise<boolean> {
  const { rows } = await db.query<{ isThere: boolean }>('SELECT to_regclass($1) IS NOT NULL AS "isThere"', [table])
  return rows[0]?.isThere === true
}

async function readApplied(db: Queryable): Promise<string[]> {
  if (!(await hasTable(db, 'migrations'))) return []
  const { rows } = await db.query<{ name: string }>('SELECT name FROM migrations')
  return rows.map(({ name }) => name)
}

/** Processes that have not reported for five minutes have ended. */
async function readProcesses(db: Queryable): Promise<VersionedProcess[]> {
  if (!(await hasTable(db, 'node_processes'))) return []
  const { rows } = await db.query<VersionedProcess>(sql`
    SELECT node, roles, version, seen_at < now() - interval '15 seconds' AS "isSilent"
    FROM node_processes
    WHERE seen_at > now() - interval '5 minutes'
    ORDER BY node, started_at, id
  `)
  return rows
}

async function readLongTransactions(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ text: string }>(sql`
    SELECT 'process ' || pid || ' of PostgreSQL (' || coalesce(nullif(application_name, ''), usename, 'unknown')
      || ') has a transaction since ' || date_trunc('second', now() - xact_start)
      || '; migrations wait for its end, and mail does not' AS text
    FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start < now() - interval '1 minute' AND pid <> pg_backend_pid()
    ORDER BY xact_start
    LIMIT 5
  `)
  return rows.map(({ text }) => text)
}
