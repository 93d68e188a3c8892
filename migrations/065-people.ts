/**
 * People who sign in: users, what they sign in with, their sessions, their roles in workspaces, and links that work
 * once: invitations and resets of passwords. Of a token only the SHA-256 is stored. Changes are in the audit log with
 * the actor `user`; when a user or an invitation is deleted, the values in their entries are deleted too.
 */
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { brief, type MigrationStep, validate } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const ROLES = `'owner', 'admin', 'developer', 'marketer', 'viewer'`

const TABLES = sql`
  CREATE TABLE users (
    id uuid PRIMARY KEY,                        -- UUIDv7
    email text NOT NULL CONSTRAINT users_email UNIQUE, -- lower case
    name text NOT NULL,
    is_operator boolean NOT NULL DEFAULT false,
    disabled_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
  );

  CREATE TABLE login_methods (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind text NOT NULL
      CONSTRAINT login_methods_kind CHECK (kind IN ('password', 'oidc', 'passkey', 'totp', 'recovery_codes')),
    subject text,                               -- what identifies the user elsewhere: issuer and subject, credential id
    name text,                                  -- as the user calls it
    secret text NOT NULL,                       -- password: argon2id in PHC format
    details jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz
  );
  CREATE UNIQUE INDEX login_methods_only ON login_methods (user_id, kind)
    WHERE kind IN ('password', 'totp', 'recovery_codes');
  CREATE UNIQUE INDEX login_methods_subject ON login_methods (kind, subject);
  CREATE INDEX login_methods_user ON login_methods (user_id);

  CREATE TABLE user_sessions (
    id uuid PRIMARY KEY,
    token_hash bytea NOT NULL CONSTRAINT user_sessions_token UNIQUE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    methods text[] NOT NULL,                    -- kinds of login_methods, the first factor first
    address text NOT NULL,                      -- of the client at the login
    user_agent text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(), -- to a minute
    expires_at timestamptz NOT NULL             -- it also ends when it was not used for long
  );
  CREATE INDEX user_sessions_user ON user_sessions (user_id);

  CREATE TABLE workspace_members (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    role text NOT NULL CONSTRAINT workspace_members_role CHECK (role IN (${ROLES})),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
  );
  CREATE INDEX workspace_members_user ON workspace_members (user_id);

  CREATE TABLE invitations (
    id uuid PRIMARY KEY,                        -- UUIDv7
    token_hash bytea NOT NULL CONSTRAINT invitations_token UNIQUE,
    email text,                                 -- lower case; null: the first operator chooses it
    workspace_id uuid REFERENCES workspaces ON DELETE CASCADE, -- null: to the service only
    role text CONSTRAINT invitations_role CHECK (role IN (${ROLES})),
    is_operator boolean NOT NULL DEFAULT false,
    invited_by uuid REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    accepted_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT invitations_workspace_role CHECK ((workspace_id IS NULL) = (role IS NULL))
  );
  CREATE INDEX invitations_workspace ON invitations (workspace_id, id);
  CREATE INDEX invitations_inviter ON invitations (invited_by);

  CREATE TABLE password_resets (
    token_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX password_resets_user ON password_resets (user_id);
`

const AUDIT = [
  auditTriggers('users', `'user', 'id', 'email name is_operator disabled_at'`),
  auditTriggers('login_methods', `'login_method', 'id', 'user_id kind name secret!'`),
  auditTriggers('user_sessions', `'session', 'id', 'user_id methods'`),
  auditTriggers('workspace_members', `'member', 'workspace_id,user_id', 'user_id role'`),
  auditTriggers('invitations', `'invitation', 'id', 'email role is_operator accepted_at revoked_at'`),
  auditTriggers('password_resets', `'password_reset', 'user_id', 'user_id'`),
].join('\n')

const ERASURE = sql`
  CREATE FUNCTION erase_audited_people() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    UPDATE audit_log l
    SET before = NULL, after = NULL
    FROM removed r
    WHERE l.kind = TG_ARGV[0] AND l.object = r.id::text;
    RETURN NULL;
  END
  $body$;
  -- After the trigger that records the deletion: triggers run in the order of their names.
  CREATE TRIGGER audit_erasure AFTER DELETE ON users REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION erase_audited_people('user');
  CREATE TRIGGER audit_erasure AFTER DELETE ON invitations REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION erase_audited_people('invitation');
`

const ACTOR = sql`
  ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_kind,
    ADD CONSTRAINT audit_log_actor_kind
      CHECK (actor_kind IN ('key', 'operator', 'cli', 'mailbox', 'schedule', 'user')) NOT VALID;
`

const UNDO = sql`
  DROP TABLE password_resets;
  DROP TABLE invitations;
  DROP TABLE workspace_members;
  DROP TABLE user_sessions;
  DROP TABLE login_methods;
  DROP TABLE users;
  DROP FUNCTION erase_audited_people;
  DELETE FROM audit_log
  WHERE actor_kind = 'user';
  ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_kind,
    ADD CONSTRAINT audit_log_actor_kind
      CHECK (actor_kind IN ('key', 'operator', 'cli', 'mailbox', 'schedule')) NOT VALID;
`

const CHECKED = validate('audit_log', 'audit_log_actor_kind')

export const steps: readonly MigrationStep[] = [
  brief(TABLES + AUDIT + ERASURE, 'add users, their sessions and roles'),
  brief(ACTOR, 'record changes by users'),
  CHECKED,
]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove users'), CHECKED]
