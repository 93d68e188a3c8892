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
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const SUPPRESSIONS = sql`
  ALTER TABLE suppressions
    ALTER COLUMN address TYPE text COLLATE "C",
    ADD COLUMN kind text NOT NULL DEFAULT 'manual'  -- src/suppression/cause.ts
      CONSTRAINT suppressions_kind CHECK (kind IN ('manual', 'import', 'hard_bounce', 'complaint', 'unsubscribe')),
    ADD COLUMN reply_code smallint,             -- the receiver's reply
    ADD COLUMN reply_status text,
    ADD COLUMN reply_text text,
    ADD COLUMN rule text,                       -- the rule that classified it
    ADD COLUMN event_id uuid,
    ADD COLUMN message_id uuid,
    ADD COLUMN api_key_id uuid,                 -- the key that added it
    ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();
  CREATE INDEX suppressions_newest ON suppressions (workspace_id, created_at, address);
`

const EVENTS = sql`
  ALTER TABLE events ADD COLUMN tx xid8 NOT NULL DEFAULT pg_current_xact_id();
  DROP INDEX events_workspace;
  CREATE INDEX events_feed ON events (workspace_id, tx, id);
  ALTER TABLE webhook_deliveries ADD COLUMN tx xid8 NOT NULL DEFAULT pg_current_xact_id();
`

const SEARCH = sql`
  CREATE INDEX recipients_address ON recipients (workspace_id, (lower(address) COLLATE "C"), message_id);
  CREATE TABLE message_tags (
    workspace_id uuid NOT NULL,
    tag text COLLATE "C" NOT NULL,
    message_id uuid NOT NULL,
    PRIMARY KEY (workspace_id, tag, message_id)
  ) PARTITION BY RANGE (message_id);
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw([SUPPRESSIONS, EVENTS, SEARCH].join('\n'))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(sql`
    DROP TABLE message_tags;
    DROP INDEX recipients_address;
    ALTER TABLE webhook_deliveries DROP COLUMN tx;
    DROP INDEX events_feed;
    ALTER TABLE events DROP COLUMN tx;
    CREATE INDEX events_workspace ON events (workspace_id, id);
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
  `)
}
