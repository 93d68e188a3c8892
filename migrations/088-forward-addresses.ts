/**
 * Addresses outside of a workspace that its inbound routes forward to, once their owner has confirmed it by a link. Of
 * the token in the link only the SHA-256 is stored. A process of an earlier version forwards nothing to them.
 */
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const AUDITED = `'forward_address', 'workspace_id,address', 'address route_address confirmed_at'`

const UP = sql`
  CREATE TABLE forward_addresses (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    address text NOT NULL,                      -- lower case
    route_address text NOT NULL,                -- the route that asked; the mail names it
    token_hash bytea CONSTRAINT forward_addresses_token UNIQUE, -- of the newest link; null: none was sent
    mail_due_at timestamptz,                    -- when the worker sends a link; null: it has
    mailed_at timestamptz[] NOT NULL DEFAULT '{}', -- the last mails
    expires_at timestamptz,                     -- of the link
    requested_at timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz,                   -- null: nothing is forwarded
    PRIMARY KEY (workspace_id, address)
  );
  CREATE INDEX forward_addresses_due ON forward_addresses (mail_due_at) WHERE mail_due_at IS NOT NULL;
  ${auditTriggers('forward_addresses', AUDITED)}
`

export const steps: readonly MigrationStep[] = [brief(UP, 'add confirmed addresses of inbound routes')]

export const undo: readonly MigrationStep[] = [
  brief('DROP TABLE forward_addresses', 'remove confirmed addresses of inbound routes'),
]
