/** When an account last signed in: an account of SMTP credentials is active only after a test has succeeded. */
import { batches, brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const EXISTING = sql`
  UPDATE connected_accounts
  SET verified_at = updated_at
  WHERE id IN (SELECT id FROM connected_accounts WHERE verified_at IS NULL LIMIT 2000)
`

export const steps: readonly MigrationStep[] = [
  // null: not tested since its last credentials
  brief('ALTER TABLE connected_accounts ADD COLUMN verified_at timestamptz'),
  batches(EXISTING, 'take existing accounts as tested'),
]

export const undo: readonly MigrationStep[] = [brief('ALTER TABLE connected_accounts DROP COLUMN verified_at')]
