/**
 * Lists the migrations of this version without loading knex, for processes that only need to know which are pending.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The folder with the migrations. */
export const MIGRATIONS = join(import.meta.dirname, '../..', 'migrations')

/** File names in the order they run. */
export function listMigrations(): string[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => /^\d{3}-.*\.ts$/.test(name))
    .toSorted()
}
