/**
 * The trigger that writes the history of contacts never joins the rows before and after a change by a nested loop.
 * PL/pgSQL keeps the plan of the first changes in a session: after a change of one contact, one of thousands compared
 * each row with each. A change of 4,500 contacts took 6.6 s for that, and 17 s on a busy machine, longer than a
 * statement may take; now 0.6 s.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'

export const steps: readonly MigrationStep[] = [
  brief('ALTER FUNCTION note_contact_changes() SET enable_nestloop = off', 'join the changes of contacts by hash only'),
]

export const undo: readonly MigrationStep[] = [
  brief('ALTER FUNCTION note_contact_changes() RESET enable_nestloop', 'join the changes of contacts as before'),
]
