/** The counter by which Mailstead detects that PostgreSQL is older than the mail sent (src/queue/restore-fence.ts). */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE restore_fence (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), -- one row
    counter bigint NOT NULL DEFAULT 0,      -- not a sequence: the WAL advances a sequence ahead of its value
    beat_at timestamptz,                    -- when the counter was last incremented
    detected_at timestamptz,                -- when the database was last found to be older
    lost_from timestamptz,                  -- the changes between these two are missing in it
    lost_until timestamptz
  );
  INSERT INTO restore_fence DEFAULT VALUES;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE restore_fence')
}
