/**
 * The document of the block editor that the body of a template was made from. It belongs to a version, like the body.
 * Null: the template is written as code.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE templates ADD COLUMN document jsonb;
  ALTER TABLE template_versions ADD COLUMN document jsonb;
`
const DOWN = sql`
  ALTER TABLE template_versions DROP COLUMN document;
  ALTER TABLE templates DROP COLUMN document;
`

export const steps: readonly MigrationStep[] = [brief(UP, 'add the documents of templates')]

export const undo: readonly MigrationStep[] = [brief(DOWN, 'remove the documents of templates')]
