/**
 * Lists that are read by cursor. Orders whose keys change are read from a snapshot: blocks of 1,000 ids of the items.
 * Snapshots that are no longer read are deleted after an hour. The new indexes are on small tables: each begins with
 * the workspace and continues in the order of its list.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE list_snapshots (
    id uuid PRIMARY KEY,
    owner uuid REFERENCES workspaces ON DELETE CASCADE, -- null: a list of the operator
    total integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    read_at timestamptz NOT NULL DEFAULT now() -- to the minute
  );
  CREATE INDEX list_snapshots_owner ON list_snapshots (owner);
  CREATE TABLE list_snapshot_blocks (
    snapshot_id uuid NOT NULL REFERENCES list_snapshots ON DELETE CASCADE,
    block integer NOT NULL, -- places block * 1000 to block * 1000 + 999
    ids uuid[] NOT NULL,
    PRIMARY KEY (snapshot_id, block)
  );
  ALTER TABLE list_snapshot_blocks ALTER ids SET STORAGE EXTERNAL; -- ids hardly compress
  CREATE INDEX api_keys_listed ON api_keys (workspace_id, id);
  CREATE INDEX templates_listed ON templates (workspace_id, created_at, id);
  CREATE INDEX domains_listed ON domains (workspace_id, created_at, id);
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX api_keys_listed, templates_listed, domains_listed')
  await knex.raw('DROP TABLE list_snapshot_blocks, list_snapshots')
}
