/** Submissions of the public forms by day, for their daily limits. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sql`
    CREATE TABLE subscribe_days (
      subject uuid NOT NULL,                    -- an audience or a workspace
      day date NOT NULL,                        -- of UTC
      submissions integer NOT NULL,             -- that were accepted
      PRIMARY KEY (subject, day)
    ) WITH (fillfactor = 50);
    CREATE INDEX subscribe_days_day ON subscribe_days (day);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE subscribe_days')
}
