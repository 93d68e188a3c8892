/** The row that a readiness check writes, to see that PostgreSQL commits writes (src/queue/store-probe.ts). */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE store_probe (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), -- one row
    written_at timestamptz
  );
  INSERT INTO store_probe DEFAULT VALUES;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE store_probe')
}
