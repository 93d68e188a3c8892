/**
 * Logins that are not complete: at an identity provider, before the second factor, or with a passkey. Of what the
 * browser holds only the SHA-256 is stored. A row is used once, and lives for some minutes. The encrypted column of
 * `login_methods` has secrets that have to be read again, such as that of an authenticator app.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const TABLE = sql`
  CREATE TABLE pending_logins (
    token_hash bytea PRIMARY KEY,               -- of the state in a URL, or of the token of the next step
    kind text NOT NULL
      CONSTRAINT pending_logins_kind CHECK (kind IN ('provider', 'second-factor', 'passkey', 'new-passkey')),
    browser_hash bytea,                         -- of the cookie that binds the browser
    user_id uuid REFERENCES users ON DELETE CASCADE, -- whose login it is, as far as that is known
    session_id uuid REFERENCES user_sessions ON DELETE CASCADE, -- that adds a login method
    details jsonb NOT NULL DEFAULT '{}',
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX pending_logins_user ON pending_logins (user_id);
  CREATE INDEX pending_logins_session ON pending_logins (session_id);
  CREATE INDEX pending_logins_expiry ON pending_logins (expires_at);

  ALTER TABLE login_methods
    ADD COLUMN encrypted bytea;                 -- encrypted: the secret of TOTP
`

const UNDO = sql`
  DROP TABLE pending_logins;
  ALTER TABLE login_methods
    DROP COLUMN encrypted;
`

export const steps: readonly MigrationStep[] = [brief(TABLE, 'add logins of several steps')]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove logins of several steps')]
