/** Captured mail belongs to the workspace that sent it. */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'

export const steps: readonly MigrationStep[] = [
  // null: not sent by this installation
  brief('ALTER TABLE sandbox_inbox ADD COLUMN workspace_id uuid'),
  buildIndex({
    table: 'sandbox_inbox',
    name: 'sandbox_inbox_workspace',
    on: '(workspace_id, id) WHERE workspace_id IS NOT NULL',
  }),
]

export const undo: readonly MigrationStep[] = [brief('ALTER TABLE sandbox_inbox DROP COLUMN workspace_id')]
