/**
 * DMARC aggregate reports of other organisations about the domains of workspaces (RFC 7489 7.2): the queue of received
 * mail, the reports, their sources, the names of sources, and the failing sources that an event was raised about.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const TABLES = sql`
  CREATE TABLE dmarc_report_arrivals (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time of arrival
    mail_from text NOT NULL,                    -- empty: the null sender
    peer text NOT NULL,
    helo text NOT NULL,
    raw bytea NOT NULL,
    due_at timestamptz NOT NULL,                -- a claim moves it forward
    tries smallint NOT NULL DEFAULT 0
  );
  ALTER TABLE dmarc_report_arrivals ALTER raw SET STORAGE EXTERNAL;
  CREATE INDEX dmarc_report_arrivals_due ON dmarc_report_arrivals (due_at);

  CREATE TABLE dmarc_reports (
    id uuid PRIMARY KEY,                        -- UUIDv7
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    domain_id uuid NOT NULL REFERENCES domains ON DELETE CASCADE,
    organization text NOT NULL,
    report_id text NOT NULL,
    signer text NOT NULL,                       -- the domain that DKIM or SPF proves; '' = unverified, never counted
    begins_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    policy_domain text NOT NULL,
    policy text NOT NULL,                       -- none, quarantine or reject
    subdomain_policy text,
    percent smallint NOT NULL,
    messages bigint NOT NULL,
    passed bigint NOT NULL,                     -- of those, DMARC passed
    -- The report is stored once. A report that claims another organization's name under its own signature does not
    -- replace that organization's report.
    CONSTRAINT dmarc_reports_once UNIQUE (domain_id, organization, report_id, signer)
  );
  CREATE INDEX dmarc_reports_list ON dmarc_reports (domain_id, id);
  CREATE INDEX dmarc_reports_workspace ON dmarc_reports (workspace_id);
  CREATE INDEX dmarc_reports_unverified ON dmarc_reports (id) WHERE signer = '';

  CREATE TABLE dmarc_sources (                  -- the records of verified reports, equal ones added up
    report_id uuid NOT NULL REFERENCES dmarc_reports ON DELETE CASCADE,
    n integer NOT NULL,                         -- from 1
    domain_id uuid NOT NULL,                    -- of the report
    day date NOT NULL,                          -- UTC: when the period of the report begins
    source_ip inet NOT NULL,
    header_from text NOT NULL,
    messages bigint NOT NULL,
    disposition text NOT NULL,                  -- what the receiver did: none, quarantine or reject
    is_dkim_aligned boolean NOT NULL,
    is_spf_aligned boolean NOT NULL,
    override text,                              -- why the receiver did not apply the policy
    dkim_domain text,                           -- a domain whose signature passes, aligned or not
    spf_domain text,
    PRIMARY KEY (report_id, n)
  );
  CREATE INDEX dmarc_sources_period ON dmarc_sources (domain_id, day);
  CREATE INDEX dmarc_sources_address ON dmarc_sources (source_ip);

  CREATE TABLE dmarc_source_names (
    source_ip inet PRIMARY KEY,
    name text,                                  -- of PTR; null: none
    is_confirmed boolean NOT NULL,              -- the name has that address
    checked_at timestamptz NOT NULL
  );

  CREATE TABLE dmarc_alerts (
    domain_id uuid NOT NULL REFERENCES domains ON DELETE CASCADE,
    source_ip inet NOT NULL,
    raised_at timestamptz NOT NULL,
    PRIMARY KEY (domain_id, source_ip)
  );
`

export const steps: readonly MigrationStep[] = [brief(TABLES, 'create the tables of DMARC reports')]

export const undo: readonly MigrationStep[] = [
  brief(
    'DROP TABLE dmarc_alerts, dmarc_source_names, dmarc_sources, dmarc_reports, dmarc_report_arrivals',
    'remove the tables of DMARC reports',
  ),
]
