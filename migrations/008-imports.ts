/**
 * Contact imports, segments, and tables for the deliverability score.
 *
 * import_chunks has the uploaded file until the import ends, so that any worker can continue it. The transaction of
 * each batch stores the progress (position, line, counts), so every row is processed and counted once. import_seen has
 * a hash of every address in the file, to detect duplicates without the file in memory. Both are deleted when the
 * import ends.
 */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const IMPORTS = sql`
  CREATE TABLE imports (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    audience_id uuid NOT NULL,
    state text NOT NULL CHECK (state IN ('uploading', 'waiting', 'running', 'done', 'failed', 'cancelled')),
    is_dry_run boolean NOT NULL,
    layout jsonb NOT NULL,                      -- delimiter and meaning of each column: src/imports/column-layout.ts
    bytes bigint NOT NULL DEFAULT 0,            -- of the file, received so far
    position bigint NOT NULL DEFAULT 0,         -- bytes of it that are imported
    line bigint NOT NULL DEFAULT 1,             -- the line that starts at position
    row_count bigint NOT NULL DEFAULT 0,
    added bigint NOT NULL DEFAULT 0,
    updated bigint NOT NULL DEFAULT 0,
    joined bigint NOT NULL DEFAULT 0,
    duplicates bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    blocked bigint NOT NULL DEFAULT 0,
    unsubscribed bigint NOT NULL DEFAULT 0,
    reason text,                                -- why it failed, as text
    lease uuid,                                 -- of the worker that runs it
    leased_until timestamptz,
    faults smallint NOT NULL DEFAULT 0,         -- consecutive batches that failed by an internal error
    is_cleared boolean NOT NULL DEFAULT false,  -- import_chunks and import_seen are empty
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz
  ) WITH (fillfactor = 50);
  CREATE INDEX imports_workspace ON imports (workspace_id, id);
  CREATE INDEX imports_open ON imports (updated_at) WHERE NOT is_cleared;
  CREATE TABLE import_chunks (
    import_id uuid NOT NULL REFERENCES imports ON DELETE CASCADE,
    n integer NOT NULL,                         -- chunk n starts at byte n * CHUNK_BYTES of the file
    content bytea NOT NULL,
    PRIMARY KEY (import_id, n)
  );
  ALTER TABLE import_chunks ALTER COLUMN content SET STORAGE EXTERNAL;
  CREATE TABLE import_seen (
    import_id uuid NOT NULL,
    hash bigint NOT NULL,
    PRIMARY KEY (import_id, hash)
  );
  CREATE TABLE import_errors (
    import_id uuid NOT NULL REFERENCES imports ON DELETE CASCADE,
    line bigint NOT NULL,
    n smallint NOT NULL,                        -- number of the error within the line
    column_name text,
    message text NOT NULL,
    value text,                                 -- the start of the cell
    PRIMARY KEY (import_id, line, n)
  );
`

const SEGMENTS = sql`
  CREATE TABLE segments (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    description text,
    audience_id uuid,                           -- only its members; null: all contacts of the workspace
    filter jsonb NOT NULL,                      -- src/segments/filter.ts
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX segments_workspace ON segments (workspace_id, id);
`

export const steps: readonly MigrationStep[] = [
  brief(IMPORTS, 'create the tables of imports'),
  brief(SEGMENTS, 'create table segments'),
  // opens and clicks by address; other events are not in the index
  buildIndex({
    table: 'events',
    name: 'events_engaged',
    on: `(workspace_id, (lower(recipient) COLLATE "C"), type, id) WHERE type IN ('email.opened', 'email.clicked')`,
  }),
  buildIndex({ table: 'contacts', name: 'contacts_scored', on: '(verified_at) WHERE verified_at IS NOT NULL' }),
  buildIndex({ table: 'suppressions', name: 'suppressions_recent', on: '(created_at)' }),
]

export const undo: readonly MigrationStep[] = [
  brief(sql`
    DROP TABLE segments, import_errors, import_seen, import_chunks, imports;
    DROP INDEX events_engaged, contacts_scored, suppressions_recent
  `),
]
