/** From when on there are open recipients, so that looking for them does not read older partitions. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE open_mail (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), -- one row
    since timestamptz NOT NULL DEFAULT 'epoch'  -- no message with an older id has an open recipient
  );
  INSERT INTO open_mail DEFAULT VALUES;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE open_mail')
}
