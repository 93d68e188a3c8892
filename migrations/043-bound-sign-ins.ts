/**
 * A sign-in for a connected account is bound to one browser, and its code is exchanged once. The audit log can name the
 * mailbox whose owner agreed.
 */
import { brief, type MigrationStep, validate } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

export const steps: readonly MigrationStep[] = [
  brief(sql`
    ALTER TABLE oauth_states
      ADD browser bytea,                        -- SHA-256 of the cookie; null: no browser has opened it
      ADD exchanged_at timestamptz;             -- the provider's code was received
    ALTER TABLE audit_log
      DROP CONSTRAINT audit_log_actor_kind,
      ADD CONSTRAINT audit_log_actor_kind CHECK (actor_kind IN ('key', 'operator', 'cli', 'mailbox')) NOT VALID
  `),
  validate('audit_log', 'audit_log_actor_kind'),
]

export const undo: readonly MigrationStep[] = [
  brief(sql`
    DELETE FROM audit_log
    WHERE actor_kind = 'mailbox';
    ALTER TABLE audit_log
      DROP CONSTRAINT audit_log_actor_kind,
      ADD CONSTRAINT audit_log_actor_kind CHECK (actor_kind IN ('key', 'operator', 'cli')) NOT VALID;
    ALTER TABLE oauth_states
      DROP browser,
      DROP exchanged_at
  `),
  validate('audit_log', 'audit_log_actor_kind'),
]
