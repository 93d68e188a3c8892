/**
 * Traffic shaping: learned limits of receivers and suspensions by reply rules, which survive processes and Redis; and
 * hourly results of each workspace.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sql`
    CREATE TABLE receiver_suspensions (
      id uuid PRIMARY KEY,                        -- UUIDv7
      -- What it stops: src/shaping/throttle-key.ts; '*' = all mail from this source.
      pace text NOT NULL,
      source text NOT NULL,
      workspace_id uuid REFERENCES workspaces ON DELETE CASCADE, -- null: all workspaces
      rule text NOT NULL,                         -- its name in the shaping file
      reply text NOT NULL,                        -- the receiver's reply
      until timestamptz NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT receiver_suspensions_once UNIQUE NULLS NOT DISTINCT (pace, source, workspace_id)
    );
    CREATE INDEX receiver_suspensions_until ON receiver_suspensions (until);
    CREATE TABLE learned_limits (
      pace text NOT NULL,
      source text NOT NULL,
      -- Fewer than the shaping file allows; the row exists only as long as that is so.
      connections real NOT NULL CHECK (connections >= 1),
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
    CREATE INDEX workspace_hours_hour ON workspace_hours (hour)
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE receiver_suspensions, learned_limits, workspace_hours')
}
