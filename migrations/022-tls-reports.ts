/**
 * Reports that other servers send us about TLS with our own mail domains (RFC 8460): as they came, until they are read, and what they say;
 * and what ours say besides.
 */
import type { Knex } from 'knex'

const UP = `
CREATE TABLE tls_report_arrivals (
  id uuid PRIMARY KEY,                        -- UUIDv7: came then
  via text NOT NULL CONSTRAINT tls_report_arrivals_via CHECK (via IN ('mail', 'https')),
  peer text NOT NULL,                         -- address of whoever brought it
  raw bytea NOT NULL,                         -- the mail, or the body of the post
  due_at timestamptz NOT NULL,                -- a claim moves it on
  tries smallint NOT NULL DEFAULT 0
);
CREATE INDEX tls_report_arrivals_due ON tls_report_arrivals (due_at);

CREATE TABLE received_tls_reports (
  id uuid PRIMARY KEY,                        -- of its arrival
  organization text NOT NULL,
  report_id text NOT NULL,
  signer text NOT NULL,                       -- the domain whose DKIM signature proves it; '' = nobody's
  via text NOT NULL,
  peer text NOT NULL,
  contact text,
  begins_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  policies jsonb NOT NULL,                    -- src/tls-reports/schema.ts
  successes bigint NOT NULL,                  -- sessions of all policies
  failures bigint NOT NULL,
  -- who claims another's name with a signature of his own takes no other's place
  CONSTRAINT received_tls_reports_once UNIQUE (organization, report_id, signer)
);
CREATE INDEX received_tls_reports_unsigned ON received_tls_reports (id) WHERE signer = '';

-- what our own reports tell of a failure besides (RFC 8460 4.3); '' = not known
ALTER TABLE tls_results
  ADD COLUMN sending_ip text NOT NULL DEFAULT '',
  ADD COLUMN mx_helo text NOT NULL DEFAULT '',
  ADD COLUMN reason text NOT NULL DEFAULT '',
  DROP CONSTRAINT tls_results_pkey,
  ADD CONSTRAINT tls_results_pkey PRIMARY KEY (day, domain, policy_hash, result, mx_host, mx_address, sending_ip, mx_helo, reason);
`

// counts of three days that are reported without what they had besides
const DOWN = `
DROP TABLE tls_report_arrivals, received_tls_reports;
DELETE FROM tls_results;
ALTER TABLE tls_results
  DROP CONSTRAINT tls_results_pkey,
  ADD CONSTRAINT tls_results_pkey PRIMARY KEY (day, domain, policy_hash, result, mx_host, mx_address),
  DROP COLUMN sending_ip, DROP COLUMN mx_helo, DROP COLUMN reason;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
