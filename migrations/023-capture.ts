/** Captured mail belongs to the workspace that sent it. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE sandbox_inbox ADD COLUMN workspace_id uuid;  -- null: not sent by this installation
  CREATE INDEX sandbox_inbox_workspace ON sandbox_inbox (workspace_id, id) WHERE workspace_id IS NOT NULL;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE sandbox_inbox DROP COLUMN workspace_id')
}
