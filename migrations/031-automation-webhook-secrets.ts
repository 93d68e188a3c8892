/** The secret of each workspace that signs the calls of its automations' webhook steps. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE automation_webhook_secrets (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
    secret bytea NOT NULL,                      -- encrypted
    previous_secret bytea,                      -- encrypted; also signs until previous_until
    previous_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE automation_webhook_secrets')
}
