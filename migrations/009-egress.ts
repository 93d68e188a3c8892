/**
 * Egress: sources (local addresses) in source pools, warm-up limits, and the results of source checks. Triggers send a
 * notification on the channel mailstead_egress when a change that outbound processes need commits.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const SOURCES = sql`
  CREATE TABLE egress_sources (
    id uuid PRIMARY KEY,
    name text NOT NULL CONSTRAINT egress_sources_name UNIQUE,
    address inet NOT NULL CONSTRAINT egress_sources_address UNIQUE,
    ehlo_name text NOT NULL,
    region text NOT NULL,
    paused_at timestamptz,
    warming_since timestamptz,                  -- null: warm
    gone_since timestamptz,                     -- no sending machine has its address since then; null: one has
    machine text,                               -- where it was last found
    check_due_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL
  );
  CREATE INDEX egress_sources_check_due ON egress_sources (check_due_at);
  CREATE TABLE egress_pools (
    name text CONSTRAINT egress_pools_name PRIMARY KEY,
    created_at timestamptz NOT NULL
  );
  CREATE TABLE egress_members (
    pool text NOT NULL CONSTRAINT egress_members_pool REFERENCES egress_pools ON DELETE CASCADE,
    source_id uuid NOT NULL REFERENCES egress_sources ON DELETE CASCADE,
    weight integer NOT NULL CHECK (weight > 0),
    PRIMARY KEY (pool, source_id)
  );
  -- Replaces the pool of the region; the domain's setting overrides the workspace's.
  ALTER TABLE workspaces
    ADD egress_pool text CONSTRAINT workspaces_egress_pool REFERENCES egress_pools ON DELETE SET NULL;
  ALTER TABLE domains
    ADD egress_pool text CONSTRAINT domains_egress_pool REFERENCES egress_pools ON DELETE SET NULL;
`

const WARM_UP = sql`
  CREATE TABLE egress_days (
    source_id uuid NOT NULL REFERENCES egress_sources ON DELETE CASCADE,
    receiver text NOT NULL,                     -- src/suppression/receiver.ts
    day date NOT NULL,                          -- UTC
    step smallint NOT NULL,                     -- of the schedule: the limit of the day
    taken integer NOT NULL DEFAULT 0,           -- of the limit, reserved by outbound processes in blocks
    sent integer NOT NULL DEFAULT 0,            -- messages that the receiver replied to
    throttled integer NOT NULL DEFAULT 0,       -- of those, deferred or rejected because of the source
    complaints integer NOT NULL DEFAULT 0,      -- received on that day
    PRIMARY KEY (source_id, receiver, day)
  ) WITH (fillfactor = 50);
`

const CHECKS = sql`
  CREATE TABLE egress_checks (
    source_id uuid NOT NULL REFERENCES egress_sources ON DELETE CASCADE,
    name text NOT NULL,                         -- src/egress/source-checks.ts
    status text NOT NULL CHECK (status IN ('ok', 'warning', 'failed', 'skipped')),
    detail text NOT NULL,
    todo text NOT NULL,
    since timestamptz NOT NULL,                 -- when this status began
    checked_at timestamptz NOT NULL,
    PRIMARY KEY (source_id, name)
  );
`

const WATCHED = {
  egress_sources: 'INSERT OR DELETE OR TRUNCATE OR UPDATE OF address, ehlo_name, paused_at, warming_since',
  egress_members: 'INSERT OR DELETE OR TRUNCATE OR UPDATE',
}

export async function up(knex: Knex): Promise<void> {
  await knex.raw([SOURCES, WARM_UP, CHECKS].join('\n'))
  await knex.raw(sql`
    CREATE FUNCTION announce_egress_change() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      PERFORM pg_notify('mailstead_egress', TG_TABLE_NAME);
      RETURN NULL;
    END $body$
  `)
  for (const [table, events] of Object.entries(WATCHED))
    await knex.raw(sql`
      CREATE TRIGGER egress_change AFTER ${events} ON ${table}
        FOR EACH STATEMENT EXECUTE FUNCTION announce_egress_change()
    `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(sql`
    ALTER TABLE domains DROP egress_pool;
    ALTER TABLE workspaces DROP egress_pool;
    DROP TABLE egress_checks, egress_days, egress_members, egress_pools, egress_sources;
    DROP FUNCTION announce_egress_change()
  `)
}
