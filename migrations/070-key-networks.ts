/**
 * The networks that an API key may be used from. A change of them clears the key caches of all processes, by a trigger
 * of its own, and is in the audit log, whose triggers are made anew with the column.
 */
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const SHOWN = 'name kind scopes domain_id account_id is_active expires_at'

const auditOf = (shown: string): string => auditTriggers('api_keys', `'api_key', 'id', '${shown} secret_hash!'`)
const DROP = sql`
  DROP TRIGGER audit_insert ON api_keys;
  DROP TRIGGER audit_update ON api_keys;
  DROP TRIGGER audit_delete ON api_keys;
`

const UP = sql`
  ALTER TABLE api_keys
    ADD allowed_networks text[] NOT NULL DEFAULT '{}'; -- in CIDR notation; empty: from everywhere
  ${DROP}
  ${auditOf(`${SHOWN} allowed_networks`)}
  CREATE TRIGGER key_networks_change AFTER UPDATE OF allowed_networks ON api_keys
  FOR EACH STATEMENT EXECUTE FUNCTION announce_key_change();
`

const UNDO = sql`
  ${DROP}
  ${auditOf(SHOWN)}
  DROP TRIGGER key_networks_change ON api_keys;
  ALTER TABLE api_keys DROP allowed_networks;
`

export const steps: readonly MigrationStep[] = [brief(UP, 'add the networks of API keys')]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove the networks of API keys')]
