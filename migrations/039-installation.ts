/** What all processes and commands of an installation must agree on (src/auth/key-prefix.ts). */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE installation (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), -- one row, written by the first start
    key_prefix text NOT NULL                                  -- KEY_PREFIX: new API keys begin with it
  );
  CREATE TRIGGER audit_update AFTER UPDATE ON installation REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT WHEN (coalesce(current_setting('mailstead.actor', true), '') <> '')
  EXECUTE FUNCTION audit_changes('installation', 'is_only', 'key_prefix');
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE installation')
}
