/**
 * Tracking: what a workspace wants tracked and how much is kept of who it was; hits of open pixels and links that were answered and wait to
 * be judged (src/tracking/record.ts); and contacts that want no mail of campaigns and automations at all.
 */
import type { Knex } from 'knex'

const UP = `
ALTER TABLE workspaces
  ADD track_opens boolean,                            -- null: of campaigns and automations, not of other mail
  ADD track_clicks boolean,
  ADD tracking_privacy text NOT NULL DEFAULT 'full'   -- how much of the address of an open or click is kept
    CONSTRAINT workspaces_tracking_privacy CHECK (tracking_privacy IN ('full', 'truncated', 'none')),
  ADD tracking_domain_id uuid REFERENCES domains ON DELETE SET NULL; -- whose tracking name stands in the links; null = the shared one

-- A queue of seconds: answered, not told yet.
CREATE TABLE tracking_hits (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  message_id uuid NOT NULL,
  n smallint NOT NULL,
  url text,                                           -- null: the open pixel
  address text NOT NULL,
  user_agent text NOT NULL,
  machine text                                        -- the rule that tells it from a person, known from the request alone
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);
CREATE INDEX tracking_hits_at ON tracking_hits (at);
CREATE INDEX tracking_hits_recipient ON tracking_hits (message_id, n);

ALTER TABLE contacts ADD opted_out_at timestamptz;    -- wants no mail of campaigns and automations, of whatever audience
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
ALTER TABLE contacts DROP opted_out_at;
DROP TABLE tracking_hits;
ALTER TABLE workspaces DROP track_opens, DROP track_clicks, DROP tracking_privacy, DROP tracking_domain_id`)
}
