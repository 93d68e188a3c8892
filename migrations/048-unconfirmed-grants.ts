/** Grants of OAuth providers that are not confirmed: they are revoked at the provider (decision 049). */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sql`
    CREATE TABLE unconfirmed_grants (
      id uuid PRIMARY KEY,                      -- of the sign-in
      workspace_id uuid NOT NULL,               -- no reference: revoked also after it is removed
      provider text NOT NULL,
      username text,                            -- the mailbox, in lower case; null if the provider does not return it
      token bytea NOT NULL,                     -- encrypted for the worker
      revoke_at timestamptz NOT NULL,
      attempts integer NOT NULL DEFAULT 0
    );
    CREATE INDEX unconfirmed_grants_due ON unconfirmed_grants (revoke_at);
    CREATE INDEX unconfirmed_grants_mailbox ON unconfirmed_grants (provider, username);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE unconfirmed_grants')
}
