/**
 * Statistics of hours and days exist beside those of minutes as soon as an hour is over, so that a report over a year
 * reads days only. Until `rolled_until`, each event is in rows of every resolution that is stored for its time; after
 * it, only in those of minutes (src/statistics/roll-up.ts). Rows of before this migration are in one resolution each:
 * they are deleted, and the stored events are counted anew.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

/** Under the lock of all writers (src/statistics/count-events.ts). */
const COUNT_ANEW = sql`
  SELECT pg_advisory_xact_lock(hashtextextended('mailstead statistics', 0));
  DELETE FROM statistics;
  DELETE FROM link_clicks;
  INSERT INTO statistics_cursors (name, tx, id, since, before_tx)
  SELECT name, CASE name WHEN 'new' THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE '0' END,
    '00000000-0000-0000-0000-000000000000', CASE name WHEN 'new' THEN now() ELSE 'epoch' END,
    CASE name WHEN 'stored' THEN pg_snapshot_xmin(pg_current_snapshot()) END
  FROM unnest('{new,stored}'::text[]) AS name
  ON CONFLICT (name)
  DO UPDATE SET tx = excluded.tx, id = excluded.id, since = excluded.since, before_tx = excluded.before_tx;
`

const UP = sql`
  ${COUNT_ANEW}
  ALTER TABLE statistics_cursors
    ADD rolled_until timestamptz NOT NULL DEFAULT date_bin('1 hour', now(), 'epoch'); -- of the cursor new
`

const UNDO = sql`
  ${COUNT_ANEW}
  ALTER TABLE statistics_cursors DROP rolled_until;
`

export const steps: readonly MigrationStep[] = [brief(UP, 'count statistics anew, by hours and days beside minutes')]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'count statistics anew, in one resolution each')]
