/**
 * For the time after the death of a process: the journal in which an outbound process notes accepted messages
 * (mta/delivery/result-journal.ts), in its lease; and an index in the order in which the schedule is filled
 * (src/messages/open-recipients.ts), since a campaign has very many recipients with the same due time.
 */
import { brief, type MigrationStep, replaceIndex } from '#src/stores/migration-steps.ts'

export const steps: readonly MigrationStep[] = [
  // name of the file; null: there is none, or it was read
  brief('ALTER TABLE leases ADD COLUMN journal text'),
  ...replaceIndex({ table: 'recipients', name: 'recipients_open', on: '(tier, due_at, message_id, n) WHERE is_open' }),
]

export const undo: readonly MigrationStep[] = [
  brief('ALTER TABLE leases DROP COLUMN journal'),
  ...replaceIndex({ table: 'recipients', name: 'recipients_open', on: '(tier, due_at) WHERE is_open' }),
]
