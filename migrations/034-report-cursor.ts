/** The time of the cursor of the delivery reports: events after it have no older ids, so older weeks are not read. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE report_cursor ADD COLUMN since timestamptz NOT NULL DEFAULT 'epoch'
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE report_cursor DROP COLUMN since')
}
