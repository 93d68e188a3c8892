/** The migrations that this version has. Apart from what runs them: a process that only asks which are pending needs no query builder. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Where they are. */
export const MIGRATIONS = join(import.meta.dirname, '../..', 'migrations')

/** File names in the order they run. */
export function listMigrations(): string[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => /^\d{3}-.*\.ts$/.test(name))
    .toSorted()
}
