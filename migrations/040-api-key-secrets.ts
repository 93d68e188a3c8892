/**
 * Earlier secrets of API keys: after a rotation they stay valid for a while, so that programs can change to the new one
 * without an interruption. The current secret is in `api_keys`. A rotation changes the row in `api_keys`, whose trigger
 * notifies the key caches.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE api_key_secrets (
    hash bytea PRIMARY KEY,                     -- SHA-256 of the whole key, as in api_keys
    key_id uuid NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX api_key_secrets_key ON api_key_secrets (key_id);
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE api_key_secrets')
}
