/**
 * Transport security of outgoing mail: MTA-STS policies that were fetched, the operator's own word about single domains, and what became of
 * TLS for those who asked for reports.
 *
 * A policy outlives the process that fetched it: within its time it holds, whatever DNS says (RFC 8461 5.1).
 */
import type { Knex } from 'knex'

const UP = `
CREATE TABLE sts_policies (
  domain text PRIMARY KEY,                    -- the recipient domain, A-labels
  id text NOT NULL,                           -- of the TXT record that led to it
  mode text NOT NULL CHECK (mode IN ('enforce', 'testing', 'none')),
  mx text[] NOT NULL,                         -- patterns
  max_age integer NOT NULL,                   -- seconds
  fetched_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  refresh_at timestamptz NOT NULL             -- a claim moves it on, so that any number of processes share the work
);
CREATE INDEX sts_policies_refresh ON sts_policies (refresh_at);

CREATE TABLE tls_rules (
  domain text PRIMARY KEY,                    -- a recipient domain
  level text NOT NULL CHECK (level IN ('required', 'opportunistic')),
  created_at timestamptz NOT NULL DEFAULT now()
);
`

const DOWN = 'DROP TABLE sts_policies, tls_rules'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
