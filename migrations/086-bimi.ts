/** The logo and the mark certificate that a sending domain names in its BIMI record (src/domains/bimi-record.ts). */
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const COLUMNS = sql`
  ALTER TABLE domains ADD COLUMN bimi_logo_url text, ADD COLUMN bimi_certificate_url text
`

/** As of migration 035, and with the new columns. */
const AUDITED_BEFORE = 'domain region verification_status is_trusted egress_pool'
const audit = (columns: string): string => sql`
  DROP TRIGGER audit_insert ON domains;
  DROP TRIGGER audit_update ON domains;
  DROP TRIGGER audit_delete ON domains;
  ${auditTriggers('domains', `'domain', 'id', '${columns}'`)}
`

export const steps: readonly MigrationStep[] = [
  brief(COLUMNS, 'add the files of the BIMI record of a domain'),
  brief(audit(`${AUDITED_BEFORE} bimi_logo_url bimi_certificate_url`), 'record changes of the files in the audit log'),
]

export const undo: readonly MigrationStep[] = [
  brief(audit(AUDITED_BEFORE), 'record changes of domains as before'),
  brief(
    'ALTER TABLE domains DROP COLUMN bimi_logo_url, DROP COLUMN bimi_certificate_url',
    'drop the files of BIMI records',
  ),
]
