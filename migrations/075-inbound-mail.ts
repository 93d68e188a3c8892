/**
 * Mail that workspaces receive at addresses of their verified domains: the routes, the mail with what was found in it,
 * its attachments, and what each workspace received on a day. The mail of a removed route or domain stays until its
 * time is over. Raw octets are stored as they are, because mail compresses badly.
 */
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const TABLES = sql`
  CREATE TABLE inbound_routes (
    id uuid PRIMARY KEY,                        -- UUIDv7
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    domain_id uuid NOT NULL REFERENCES domains ON DELETE CASCADE,
    local_part text NOT NULL,                   -- lower case; one * stands for any characters
    action text NOT NULL CONSTRAINT inbound_routes_action CHECK (action IN ('webhook', 'store', 'drop')),
    priority integer NOT NULL,                  -- the highest first
    description text,
    is_active boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT inbound_routes_address UNIQUE (domain_id, local_part)
  );
  CREATE INDEX inbound_routes_workspace ON inbound_routes (workspace_id, id);

  CREATE TABLE received_emails (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time of arrival
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    route_id uuid NOT NULL,                     -- no foreign key: the mail outlives the route
    action text NOT NULL,                       -- of the route at the arrival
    recipient text NOT NULL,
    mail_from text NOT NULL,                    -- empty: the null sender
    from_address text COLLATE "C" NOT NULL DEFAULT '', -- lower case; empty: none, or not parsed yet
    peer text NOT NULL,
    helo text NOT NULL,
    is_tls boolean NOT NULL,
    size integer NOT NULL,                      -- octets
    raw bytea NOT NULL,
    state text NOT NULL DEFAULT 'received'
      CONSTRAINT received_emails_state CHECK (state IN ('received', 'processed', 'unreadable')),
    due_at timestamptz,                         -- a claim moves it forward; null: processed
    tries smallint NOT NULL DEFAULT 0,
    spam_verdict text,                          -- null until it is processed
    subject text,
    content jsonb                               -- src/inbound-mail/received-content.ts
  );
  ALTER TABLE received_emails ALTER raw SET STORAGE EXTERNAL;
  CREATE INDEX received_emails_list ON received_emails (workspace_id, id);
  CREATE INDEX received_emails_due ON received_emails (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX received_emails_from ON received_emails (workspace_id, from_address);
  CREATE INDEX received_emails_sender ON received_emails (workspace_id, lower(mail_from) COLLATE "C");

  CREATE TABLE received_attachments (
    email_id uuid NOT NULL REFERENCES received_emails ON DELETE CASCADE,
    n smallint NOT NULL,                        -- from 1
    filename text,
    content_type text NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (email_id, n)
  );
  ALTER TABLE received_attachments ALTER content SET STORAGE EXTERNAL;

  CREATE TABLE inbound_usage (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    day date NOT NULL,                          -- UTC
    emails integer NOT NULL,
    octets bigint NOT NULL,
    PRIMARY KEY (workspace_id, day)
  );

  ${auditTriggers('inbound_routes', `'inbound_route', 'id', 'local_part action priority description is_active'`)}
  ${auditTriggers('received_emails', `'received_email', 'id', 'recipient size'`)}
`

export const steps: readonly MigrationStep[] = [brief(TABLES, 'create the tables of inbound mail')]

export const undo: readonly MigrationStep[] = [
  brief(
    'DROP TABLE inbound_usage, received_attachments, received_emails, inbound_routes',
    'remove the tables of inbound mail',
  ),
]
