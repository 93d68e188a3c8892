/**
 * Messages that were submitted by SMTP: the octets that are sent, and the envelope. EXTERNAL: never compressed, because
 * most of a large message is base64; a message of a few KB stays in its row.
 *
 * Delivery reports are sent from events, in the order of src/events/feed.ts after a cursor: for failures, and for
 * events whose data says that the sender requested a report.
 */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

export const steps: readonly MigrationStep[] = [
  brief(sql`
    ALTER TABLE messages ADD COLUMN raw bytea, ADD COLUMN submitted jsonb;
    ALTER TABLE messages ALTER COLUMN raw SET STORAGE EXTERNAL;
    COMMENT ON COLUMN messages.raw IS 'the whole message as it goes out, without its signatures';
    COMMENT ON COLUMN messages.submitted IS 'the envelope that it came in';
    CREATE TABLE report_cursor (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      tx xid8 NOT NULL,
      id uuid NOT NULL
    );
    INSERT INTO report_cursor (tx, id)
    VALUES (pg_snapshot_xmin(pg_current_snapshot()), '00000000-0000-0000-0000-000000000000');
  `),
  buildIndex({
    table: 'events',
    name: 'events_reports',
    on: `(tx, id) WHERE type IN ('email.bounced', 'email.failed') OR jsonb_exists(data, 'dsn')`,
  }),
]

export const undo: readonly MigrationStep[] = [
  brief(sql`
    DROP TABLE report_cursor;
    DROP INDEX events_reports;
    ALTER TABLE messages DROP COLUMN raw, DROP COLUMN submitted
  `),
]
