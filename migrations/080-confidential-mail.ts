/**
 * Mail that only its recipient may read, such as an invitation: it has a link that gives access. Messages of earlier
 * versions are not marked; their links are used or too old within a week.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE messages
    ADD COLUMN is_confidential boolean NOT NULL DEFAULT false; -- only the recipient may read its content
`

const UNDO = sql`
  ALTER TABLE messages
    DROP COLUMN is_confidential;
`

export const steps: readonly MigrationStep[] = [brief(UP, 'mark mail that only its recipient may read')]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove the mark of confidential mail')]
