/**
 * TLS reports of other organisations about the mail domains of this server (RFC 8460): the queue of received reports
 * and their content; and further details for the reports that this server sends.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE tls_report_arrivals (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time of arrival
    via text NOT NULL CONSTRAINT tls_report_arrivals_via CHECK (via IN ('mail', 'https')),
    peer text NOT NULL,                         -- address of the client that delivered it
    raw bytea NOT NULL,                         -- the message, or the body of the POST request
    due_at timestamptz NOT NULL,                -- a claim moves it forward
    tries smallint NOT NULL DEFAULT 0
  );
  CREATE INDEX tls_report_arrivals_due ON tls_report_arrivals (due_at);

  CREATE TABLE received_tls_reports (
    id uuid PRIMARY KEY,                        -- of its arrival
    organization text NOT NULL,
    report_id text NOT NULL,
    signer text NOT NULL,                       -- the domain of its valid DKIM signature; '' = none
    via text NOT NULL,
    peer text NOT NULL,
    contact text,
    begins_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    policies jsonb NOT NULL,                    -- src/tls-reports/schema.ts
    successes bigint NOT NULL,                  -- sessions of all policies
    failures bigint NOT NULL,
    -- A report that claims another organization's name under its own signature does not replace that organization's
    -- report.
    CONSTRAINT received_tls_reports_once UNIQUE (organization, report_id, signer)
  );
  CREATE INDEX received_tls_reports_unsigned ON received_tls_reports (id) WHERE signer = '';

  -- Further details of a failure in our own reports (RFC 8460 4.3); '' = unknown.
  ALTER TABLE tls_results
    ADD COLUMN sending_ip text NOT NULL DEFAULT '',
    ADD COLUMN mx_helo text NOT NULL DEFAULT '',
    ADD COLUMN reason text NOT NULL DEFAULT '',
    DROP CONSTRAINT tls_results_pkey,
    ADD CONSTRAINT tls_results_pkey
      PRIMARY KEY (day, domain, policy_hash, result, mx_host, mx_address, sending_ip, mx_helo, reason);
`

// `down` deletes the TLS results, at most those of three days: they do not fit the old primary key
const DOWN = sql`
  DROP TABLE tls_report_arrivals, received_tls_reports;
  DELETE FROM tls_results;
  ALTER TABLE tls_results
    DROP CONSTRAINT tls_results_pkey,
    ADD CONSTRAINT tls_results_pkey PRIMARY KEY (day, domain, policy_hash, result, mx_host, mx_address),
    DROP COLUMN sending_ip,
    DROP COLUMN mx_helo,
    DROP COLUMN reason;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
