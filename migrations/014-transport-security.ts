/**
 * Transport security of outbound mail: fetched MTA-STS policies, the operator's TLS rules for domains, and TLS results
 * for domains that request reports.
 *
 * A policy survives the process that fetched it: until it expires it applies, whatever DNS says (RFC 8461 5.1).
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE sts_policies (
    domain text PRIMARY KEY,                    -- the recipient domain, A-labels
    id text NOT NULL,                           -- id in the TXT record
    mode text NOT NULL CHECK (mode IN ('enforce', 'testing', 'none')),
    mx text[] NOT NULL,                         -- patterns
    max_age integer NOT NULL,                   -- seconds
    fetched_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- A claim moves it forward, so that any number of processes share the work.
    refresh_at timestamptz NOT NULL
  );
  CREATE INDEX sts_policies_refresh ON sts_policies (refresh_at);

  CREATE TABLE tls_rules (
    domain text PRIMARY KEY,                    -- a recipient domain
    level text NOT NULL CHECK (level IN ('required', 'opportunistic')),
    created_at timestamptz NOT NULL DEFAULT now()
  );

  -- Sessions by TLS result, for domains that request reports (RFC 8460).
  CREATE TABLE tls_results (
    day date NOT NULL,                          -- UTC
    domain text NOT NULL,
    policy_hash bytea NOT NULL,
    policy jsonb NOT NULL,                      -- src/tls-reports/report.ts
    result text NOT NULL,                       -- success, or a failure as RFC 8460 4.3 names it
    mx_host text NOT NULL,
    mx_address text NOT NULL,                   -- '' if no connection was made
    count bigint NOT NULL,
    CONSTRAINT tls_results_pkey PRIMARY KEY (day, domain, policy_hash, result, mx_host, mx_address)
  );

  CREATE TABLE tls_reports (
    day date NOT NULL,
    domain text NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given_up')),
    tries integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,                -- a claim moves it forward
    CONSTRAINT tls_reports_pkey PRIMARY KEY (day, domain)
  );
  CREATE INDEX tls_reports_due ON tls_reports (due_at) WHERE state = 'waiting';
`

const DOWN = 'DROP TABLE sts_policies, tls_rules, tls_results, tls_reports'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
