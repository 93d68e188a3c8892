/**
 * Statistics of mail (src/statistics): counters by period and dimension, clicks by link, and how far events are
 * counted. Events that exist before this migration are counted by a cursor of their own, so that new mail is counted
 * at once. The index has the events of all workspaces in the order in which they become visible.
 */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const COUNTERS = [
  'accepted',
  'sent',
  'delivered',
  'deferred',
  'bounced_hard',
  'bounced_soft',
  'failed',
  'suppressed',
  'cancelled',
  'complained',
  'unsubscribed',
  'opened',
  'opened_unique',
  'opened_machine',
  'clicked',
  'clicked_unique',
  'clicked_machine',
]

// no foreign keys: mail is counted while its workspace is deleted, and src/statistics/roll-up.ts sweeps the rest
const TABLES = sql`
  CREATE TABLE statistics (
    workspace_id uuid NOT NULL,                 -- all zeros: the whole installation
    dimension text COLLATE "C" NOT NULL,        -- src/statistics/dimensions.ts
    at timestamptz NOT NULL,                    -- the start of the period
    resolution smallint NOT NULL,               -- 0: a minute, 1: an hour, 2: a day of UTC
    value text COLLATE "C" NOT NULL,            -- empty: all values, or those beyond the limit
    ${COUNTERS.map((name) => `${name} integer`).join(',\n    ')},
    PRIMARY KEY (workspace_id, dimension, at, resolution, value)
  ) WITH (fillfactor = 85);
  CREATE INDEX statistics_age ON statistics (resolution, at);
  CREATE TABLE link_clicks (
    workspace_id uuid NOT NULL,
    content text COLLATE "C" NOT NULL,          -- campaign:ID, template:ID or empty
    day date NOT NULL,                          -- UTC
    url text COLLATE "C" NOT NULL,              -- src/statistics/link-name.ts; empty: links beyond the limit
    clicked integer,
    clicked_unique integer,
    clicked_machine integer,
    PRIMARY KEY (workspace_id, content, day, url)
  );
  CREATE INDEX link_clicks_age ON link_clicks (day);
  CREATE TABLE statistics_cursors (
    name text PRIMARY KEY,                      -- new; stored: events of before this migration
    tx xid8 NOT NULL,                           -- events up to (tx, id) are counted
    id uuid NOT NULL,
    since timestamptz NOT NULL,                 -- events after it have no older ids but for MAX_EVENT_LAG_MS
    before_tx xid8                              -- it ends before this transaction; null: never
  );
  INSERT INTO statistics_cursors (name, tx, id, since, before_tx)
  SELECT name, CASE name WHEN 'new' THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE '0' END,
    '00000000-0000-0000-0000-000000000000', CASE name WHEN 'new' THEN now() ELSE 'epoch' END,
    CASE name WHEN 'stored' THEN pg_snapshot_xmin(pg_current_snapshot()) END
  FROM unnest('{new,stored}'::text[]) AS name;
`

export const steps: readonly MigrationStep[] = [
  buildIndex({ table: 'events', name: 'events_order', on: '(tx, id)' }),
  brief(TABLES, 'create the tables of statistics'),
]

export const undo: readonly MigrationStep[] = [
  brief(
    'DROP TABLE statistics_cursors; DROP TABLE link_clicks; DROP TABLE statistics; DROP INDEX events_order',
    'drop the tables of statistics',
  ),
]
