/**
 * Lists that are read by cursor. Orders whose keys change are read from a snapshot: blocks of 1,000 ids of the items.
 * Snapshots that are no longer read are deleted after an hour. The new indexes are on small tables: each begins with
 * the workspace and continues in the order of its list.
 */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'
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
`

export const steps: readonly MigrationStep[] = [
  brief(UP, 'create the tables of snapshots'),
  buildIndex({ table: 'api_keys', name: 'api_keys_listed', on: '(workspace_id, id)' }),
  buildIndex({ table: 'templates', name: 'templates_listed', on: '(workspace_id, created_at, id)' }),
  buildIndex({ table: 'domains', name: 'domains_listed', on: '(workspace_id, created_at, id)' }),
]

export const undo: readonly MigrationStep[] = [
  brief(sql`
    DROP INDEX api_keys_listed, templates_listed, domains_listed;
    DROP TABLE list_snapshot_blocks, list_snapshots
  `),
]
