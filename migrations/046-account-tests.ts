/** When an account last signed in: an account of SMTP credentials is active only after a test has succeeded. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE connected_accounts ADD COLUMN verified_at timestamptz; -- null: not tested since its last credentials
  UPDATE connected_accounts SET verified_at = updated_at;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE connected_accounts DROP COLUMN verified_at')
}
