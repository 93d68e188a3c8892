/**
 * Columns and indexes for reading: causes of suppressions, the order of the event feed, and the search for messages.
 *
 * Ids of events are created before their transaction commits, so events do not become visible in the order of their
 * ids. `tx` is the transaction that wrote an event. Events older than every running transaction are complete, and (tx,
 * id) is an order into which nothing is inserted later (src/events/feed.ts). The transaction of an event also writes
 * its deliveries, so they refer to it by (tx, id).
 *
 * Recipients are searched by an index, tags by a separate table, so that messages without tags cost nothing.
 */
import { brief, buildIndex, type MigrationStep, validate } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const SUPPRESSIONS = sql`
  ALTER TABLE suppressions
    ADD COLUMN kind text NOT NULL DEFAULT 'manual', -- src/suppression/cause.ts
    ADD COLUMN reply_code smallint,             -- the receiver's reply
    ADD COLUMN reply_status text,
    ADD COLUMN reply_text text,
    ADD COLUMN rule text,                       -- the rule that classified it
    ADD COLUMN event_id uuid,
    ADD COLUMN message_id uuid,
    ADD COLUMN api_key_id uuid,                 -- the key that added it
    ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
    ADD CONSTRAINT suppressions_kind
      CHECK (kind IN ('manual', 'import', 'hard_bounce', 'complaint', 'unsubscribe')) NOT VALID;
`

// A change of the collation rebuilds the indexes of the column, except one that has the new collation already.
const SUPPRESSIONS_COLLATION = sql`
  ALTER TABLE suppressions DROP CONSTRAINT suppressions_pkey;
  ALTER TABLE suppressions ALTER COLUMN address TYPE text COLLATE "C";
  ALTER TABLE suppressions ADD CONSTRAINT suppressions_pkey PRIMARY KEY USING INDEX suppressions_by_bytes;
`

/** A default that differs for each row would write all rows again. Rows that exist get one constant. */
const addTransaction = (table: string): string => sql`
  DO $body$
  BEGIN
    EXECUTE format('ALTER TABLE ${table} ADD COLUMN tx xid8 NOT NULL DEFAULT %L', pg_current_xact_id());
  END $body$;
  ALTER TABLE ${table} ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
`

const EVENTS = sql`
  ${addTransaction('events')}
  DROP INDEX events_workspace;
  ${addTransaction('webhook_deliveries')}
`

const SEARCH = sql`
  CREATE TABLE message_tags (
    workspace_id uuid NOT NULL,
    tag text COLLATE "C" NOT NULL,
    message_id uuid NOT NULL,
    PRIMARY KEY (workspace_id, tag, message_id)
  ) PARTITION BY RANGE (message_id);
`

export const steps: readonly MigrationStep[] = [
  brief(SUPPRESSIONS, 'add columns to suppressions'),
  validate('suppressions', 'suppressions_kind'),
  buildIndex({
    table: 'suppressions',
    name: 'suppressions_by_bytes',
    on: '(workspace_id, address COLLATE "C")',
    isUnique: true,
  }),
  brief(SUPPRESSIONS_COLLATION, 'sort suppressions by bytes'),
  buildIndex({ table: 'suppressions', name: 'suppressions_newest', on: '(workspace_id, created_at, address)' }),
  brief(EVENTS, 'add the transaction to events and webhook_deliveries'),
  buildIndex({ table: 'events', name: 'events_feed', on: '(workspace_id, tx, id)' }),
  buildIndex({
    table: 'recipients',
    name: 'recipients_address',
    on: '(workspace_id, (lower(address) COLLATE "C"), message_id)',
  }),
  brief(SEARCH, 'create table message_tags'),
]

export const undo: readonly MigrationStep[] = [
  buildIndex({ table: 'events', name: 'events_workspace', on: '(workspace_id, id)' }),
  brief(sql`
    DROP TABLE message_tags;
    DROP INDEX recipients_address;
    ALTER TABLE webhook_deliveries DROP COLUMN tx;
    DROP INDEX events_feed;
    ALTER TABLE events DROP COLUMN tx;
    DROP INDEX suppressions_newest;
    ALTER TABLE suppressions
      DROP COLUMN kind,
      DROP COLUMN reply_code,
      DROP COLUMN reply_status,
      DROP COLUMN reply_text,
      DROP COLUMN rule,
      DROP COLUMN event_id,
      DROP COLUMN message_id,
      DROP COLUMN api_key_id,
      DROP COLUMN updated_at
  `),
]
