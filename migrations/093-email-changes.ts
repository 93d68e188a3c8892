/**
 * New email addresses of users that are not confirmed yet. Of the token in the link only the SHA-256 is stored. A row
 * is used once, and lives for a day.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE email_changes (
    user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE, -- the last one counts
    token_hash bytea NOT NULL CONSTRAINT email_changes_token UNIQUE,
    email text NOT NULL,                        -- lower case
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
  );
`

export const steps: readonly MigrationStep[] = [brief(UP, 'add unconfirmed email addresses')]

export const undo: readonly MigrationStep[] = [brief('DROP TABLE email_changes', 'remove unconfirmed email addresses')]
