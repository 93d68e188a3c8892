/** Destinations that the operator has suspended: their mail waits, uncounted, until they are resumed. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sql`
    CREATE TABLE suspensions (
      domain text PRIMARY KEY,                    -- a recipient domain, or '*' for all mail
      reason text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    )
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE suspensions')
}
