/** A cause of suppression that stops bulk mail only: the one-click link of mail sent to `/send-email/bulk`. */
import { brief, type MigrationStep, unlocked, validate } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const allow = (kinds: readonly string[]): readonly MigrationStep[] => [
  brief(
    sql`
      ALTER TABLE suppressions
        DROP CONSTRAINT suppressions_kind,
        ADD CONSTRAINT suppressions_kind CHECK (kind IN (${kinds.map((kind) => `'${kind}'`).join(', ')})) NOT VALID
    `,
    `allow ${kinds.at(-1)} as a kind of suppressions`,
  ),
  validate('suppressions', 'suppressions_kind'),
]

const BEFORE = ['manual', 'import', 'hard_bounce', 'complaint', 'unsubscribe']

export const steps = allow([...BEFORE, 'unsubscribe_bulk'])

export const undo: readonly MigrationStep[] = [
  unlocked(`DELETE FROM suppressions WHERE kind = 'unsubscribe_bulk'`),
  ...allow(BEFORE),
]
