/**
 * Lists the migrations of this version without loading knex, for processes that only need to know which are pending.
 *
 * A migration expands the schema, so that the previous version runs with it, or contracts it: it removes what only
 * earlier versions use, and its name begins with `contract`. Contract migrations wait until no process of an earlier
 * version runs, so a process is ready without them. A migration of a later version that this one does not know is
 * harmless if it expands.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The folder with the migrations. */
export const MIGRATIONS = join(import.meta.dirname, '../..', 'migrations')

/** File names in the order they run. */
export function listMigrations(): string[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => /^\d{3}-.*\.ts$/.test(name) && !name.endsWith('.test.ts'))
    .toSorted()
}

/** `074-contract-name.ts` */
export function isContract(name: string): boolean {
  return /^\d{3}-contract-/.test(name)
}

export interface MigrationState {
  /** Of this version, not applied, in the order they run. */
  readonly pending: readonly string[]
  /** Without them, this version does not run. */
  readonly needed: readonly string[]
  /** Applied by a later version. */
  readonly unknown: readonly string[]
  /** Of those, the ones that removed something that this version may need. */
  readonly incompatible: readonly string[]
}

/** Compares what is applied with the migrations of this version. */
export function compareMigrations(
  applied: readonly string[],
  all: readonly string[] = listMigrations(),
): MigrationState {
  const pending = all.filter((name) => !applied.includes(name))
  const unknown = applied.filter((name) => !all.includes(name))
  return {
    pending,
    needed: pending.filter((name) => !isContract(name)),
    unknown,
    incompatible: unknown.filter((name) => isContract(name)),
  }
}
