/**
 * The nodes of an installation and their processes, for `mailstead node`; and leases that name their node, so that
 * leases of a machine that was restarted or given up are released at once.
 */
import type { Knex } from 'knex'
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE nodes (
    name text PRIMARY KEY,
    is_draining boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE node_processes (
    id uuid PRIMARY KEY,
    node text NOT NULL REFERENCES nodes ON DELETE CASCADE,
    roles text[] NOT NULL,
    version text NOT NULL,
    sources text[] NOT NULL,                    -- IP addresses that it sends from
    is_drained boolean NOT NULL,                -- nothing of it runs that a drain stops
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX node_processes_node ON node_processes (node);

  ALTER TABLE leases
    ADD node text,
    ADD host text,                              -- id of the operating system's installation; null: unknown
    ADD is_declared_dead boolean NOT NULL DEFAULT false;
`

const DOWN = sql`
  ALTER TABLE leases DROP node, DROP host, DROP is_declared_dead;
  DROP TABLE node_processes;
  DROP TABLE nodes;
`

/** The triggers of the audit log. */
const AUDIT = auditTriggers('nodes', `'node', 'name', 'name is_draining'`)

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP + AUDIT)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
