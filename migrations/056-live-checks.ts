/**
 * The results of the checks of a live installation: what is missing, and whether campaigns wait for it. The mode of the
 * installation: a process in sandbox mode that was not asked to would deliver the mail of a live one to the sandbox.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE live_checks (
    name text PRIMARY KEY,                 -- src/going-live/checks.ts
    status text NOT NULL,                  -- ok, warning, failed, skipped, unknown
    detail text NOT NULL,
    todo text NOT NULL,
    holds boolean NOT NULL,                -- while it fails, campaigns are held back
    since timestamptz NOT NULL,            -- of this status
    checked_at timestamptz NOT NULL
  );
  CREATE TABLE installation_mode (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), -- one row, written by the first process that starts
    mode text NOT NULL CHECK (mode IN ('sandbox', 'live'))
  );
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE installation_mode; DROP TABLE live_checks')
}
