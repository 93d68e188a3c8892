/**
 * Reviews of the suppression list that the API requests (src/suppression/suppression-reviews.ts), and their verb in the
 * log of the operator's actions. A process of an earlier version executes none; they wait for a newer one.
 */
import { brief, type MigrationStep, unlocked, validate } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const TABLE = sql`
  CREATE TABLE suppression_reviews (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time of the request
    is_lifting boolean NOT NULL,                -- whether wrong entries are removed from the list
    actor jsonb,                                -- who requested it, for the audit log (src/stores/audit.ts)
    seen bigint NOT NULL DEFAULT 0,             -- entries of the list that were checked
    found bigint NOT NULL DEFAULT 0,            -- those that were wrong; with is_lifting those that were removed
    entries jsonb NOT NULL DEFAULT '[]',        -- the first of those
    at_workspace uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- the last entry that was checked
    at_address text NOT NULL DEFAULT '',
    taken_until timestamptz NOT NULL DEFAULT '-infinity',
    ended_at timestamptz
  );
  CREATE INDEX suppression_reviews_waiting ON suppression_reviews (id) WHERE ended_at IS NULL;
`

const allow = (verbs: readonly string[]): readonly MigrationStep[] => [
  brief(
    sql`
      ALTER TABLE operator_actions
        DROP CONSTRAINT operator_actions_verb,
        ADD CONSTRAINT operator_actions_verb CHECK (verb IN (${verbs.map((verb) => `'${verb}'`).join(', ')})) NOT VALID
    `,
    `allow the verbs of operator actions up to ${verbs.at(-1)}`,
  ),
  validate('operator_actions', 'operator_actions_verb'),
]

const BEFORE = ['retry', 'drop', 'bounce', 'suspend', 'resume', 'pool', 'dry-run']

export const steps: readonly MigrationStep[] = [
  brief(TABLE, 'create the table of reviews of the suppression list'),
  ...allow([...BEFORE, 'review']),
]

export const undo: readonly MigrationStep[] = [
  unlocked(`DELETE FROM operator_actions WHERE verb = 'review'`),
  ...allow(BEFORE),
  brief('DROP TABLE suppression_reviews', 'drop the table of reviews of the suppression list'),
]
