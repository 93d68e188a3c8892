/**
 * Inbound mail: received reports and their results; suppressions that wait for a second bounce or for the end of a
 * receiver's outage; and hourly results of each receiver, from which outages are detected.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const REPORTS = sql`
  CREATE TABLE inbound_reports (
    id uuid PRIMARY KEY,                        -- UUIDv7
    received_at timestamptz NOT NULL,
    target text NOT NULL CHECK (target IN ('return-path', 'complaint', 'postmaster')),
    message_id uuid,                            -- from the token; null: no token
    n smallint,
    mail_from text NOT NULL,
    peer text NOT NULL,                         -- address of the server that delivered it
    size integer NOT NULL,                      -- octets; raw holds the first of them
    raw bytea NOT NULL,
    due_at timestamptz,                         -- when it is due to be processed; null: processed
    tries smallint NOT NULL DEFAULT 0,          -- times that it waited for its recipient's outcome
    kind text,                                  -- mta/classify/report.ts
    facts jsonb,                                -- what it reports about the recipient
    result text,                                -- what it changed: mta/inbound/report-evaluation.ts
    event_id uuid                               -- the event it raised
  );
  CREATE INDEX inbound_reports_due ON inbound_reports (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX inbound_reports_recipient ON inbound_reports (message_id, n) WHERE message_id IS NOT NULL;
  CREATE INDEX inbound_reports_letters ON inbound_reports (id) WHERE message_id IS NULL;
  CREATE INDEX inbound_reports_event ON inbound_reports (event_id) WHERE event_id IS NOT NULL;
`

const SUPPRESSION = sql`
  CREATE TABLE held_suppressions (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    address text COLLATE "C" NOT NULL,          -- lower case
    hold text NOT NULL CHECK (hold IN ('proof', 'outage')),
    receiver text NOT NULL,                     -- src/suppression/receiver.ts
    cause text NOT NULL,
    reply_code smallint,
    reply_status text,
    reply_text text,
    rule text NOT NULL,                         -- src/suppression/bounce-rules.ts
    event_id uuid,
    message_id uuid,
    held_at timestamptz NOT NULL,               -- when it was first reported
    PRIMARY KEY (workspace_id, address)
  );
  CREATE INDEX held_suppressions_oldest ON held_suppressions (held_at);
  CREATE TABLE receiver_hours (
    receiver text NOT NULL,
    hour timestamptz NOT NULL,
    delivered bigint NOT NULL,
    hard bigint NOT NULL,                       -- recipients that it reported as nonexistent
    PRIMARY KEY (receiver, hour)
  ) WITH (fillfactor = 50);
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw([REPORTS, SUPPRESSION].join('\n'))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE inbound_reports, held_suppressions, receiver_hours')
}
