/** What was learned about receivers, and what their replies stopped: it outlives every process and Redis. And how each workspace's mail is taken. */
import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
CREATE TABLE receiver_suspensions (
  id uuid PRIMARY KEY,                        -- UUIDv7
  pace text NOT NULL,                         -- what it stops: src/shaping/pace-key.ts; '*' = everything from this source
  source text NOT NULL,
  workspace_id uuid REFERENCES workspaces ON DELETE CASCADE, -- null = all of them
  rule text NOT NULL,                         -- of the shaping file
  reply text NOT NULL,                        -- what the receiver said
  until timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT receiver_suspensions_once UNIQUE NULLS NOT DISTINCT (pace, source, workspace_id)
);
CREATE INDEX receiver_suspensions_until ON receiver_suspensions (until);
CREATE TABLE learned_limits (
  pace text NOT NULL,
  source text NOT NULL,
  connections real NOT NULL CHECK (connections >= 1), -- fewer than the file allows; a row is there only while it is so
  changed_at timestamptz NOT NULL,
  PRIMARY KEY (pace, source)
);
CREATE TABLE workspace_hours (
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  delivered integer NOT NULL,
  hard integer NOT NULL,                      -- recipients that do not exist
  complaints integer NOT NULL,
  PRIMARY KEY (workspace_id, hour)
) WITH (fillfactor = 50);
CREATE INDEX workspace_hours_hour ON workspace_hours (hour)`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE receiver_suspensions, learned_limits, workspace_hours')
}
