/**
 * Tracking: the tracking and privacy settings of a workspace; opens and clicks that wait to be classified
 * (src/tracking/hit-recorder.ts); and contacts that have opted out of all mail of campaigns and automations.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE workspaces
    ADD track_opens boolean,                            -- null: in mail of campaigns and automations only
    ADD track_clicks boolean,
    ADD tracking_privacy text NOT NULL DEFAULT 'full'   -- how much of the IP address of an open or click is stored
      CONSTRAINT workspaces_tracking_privacy CHECK (tracking_privacy IN ('full', 'truncated', 'none')),
    -- The domain whose tracking name the links have; null: the shared one.
    ADD tracking_domain_id uuid REFERENCES domains ON DELETE SET NULL;

  -- A queue of seconds: opens and clicks that were answered and are not recorded as events yet.
  CREATE TABLE tracking_hits (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    message_id uuid NOT NULL,
    n smallint NOT NULL,
    url text,                                           -- null: the open pixel
    address text NOT NULL,
    user_agent text NOT NULL,
    -- The rule that matched it as automatic, from the request alone.
    machine text
  ) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1
  );
  CREATE INDEX tracking_hits_at ON tracking_hits (at);
  CREATE INDEX tracking_hits_recipient ON tracking_hits (message_id, n);

  -- Opted out of all mail of campaigns and automations, whatever the audience.
  ALTER TABLE contacts ADD opted_out_at timestamptz;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(sql`
    ALTER TABLE contacts DROP opted_out_at;
    DROP TABLE tracking_hits;
    ALTER TABLE workspaces
      DROP track_opens,
      DROP track_clicks,
      DROP tracking_privacy,
      DROP tracking_domain_id
  `)
}
