/**
 * Where an inbound route forwards its mail, and what became of each mail. A process of an earlier version stores mail
 * of a route that forwards, and does not forward it.
 */
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { brief, type MigrationStep, validate } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const SHOWN = 'local_part action priority description is_active'
const auditOf = (shown: string): string => auditTriggers('inbound_routes', `'inbound_route', 'id', '${shown}'`)
const DROP = sql`
  DROP TRIGGER audit_insert ON inbound_routes;
  DROP TRIGGER audit_update ON inbound_routes;
  DROP TRIGGER audit_delete ON inbound_routes;
`

const UP = sql`
  ALTER TABLE inbound_routes
    ADD forward_to text[] NOT NULL DEFAULT '{}', -- addresses; each is checked again when a mail is forwarded
    ADD forwards_spam boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT inbound_routes_action,
    ADD CONSTRAINT inbound_routes_action CHECK (action IN ('webhook', 'store', 'drop', 'forward')) NOT VALID;
  ALTER TABLE received_emails
    ADD forward_result text,                    -- null: its route forwards nothing (src/inbound-mail/forwarding.ts)
    ADD forward_message_id uuid;                -- no foreign key: the mail outlives the message
  ${DROP}
  ${auditOf(`${SHOWN} forward_to forwards_spam`)}
`

const UNDO = sql`
  ${DROP}
  ${auditOf(SHOWN)}
  UPDATE inbound_routes
  SET action = 'store'
  WHERE action = 'forward';
  ALTER TABLE inbound_routes
    DROP CONSTRAINT inbound_routes_action,
    ADD CONSTRAINT inbound_routes_action CHECK (action IN ('webhook', 'store', 'drop')) NOT VALID,
    DROP forward_to,
    DROP forwards_spam;
  ALTER TABLE received_emails DROP forward_result, DROP forward_message_id;
`

export const steps: readonly MigrationStep[] = [
  brief(UP, 'add the addresses that inbound routes forward to'),
  validate('inbound_routes', 'inbound_routes_action'),
]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove forwarding of inbound mail')]
