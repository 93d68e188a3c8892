/**
 * Connected accounts: mailboxes and SMTP servers of a workspace through which it sends mail, the API keys bound to
 * them, and pending OAuth sign-ins.
 *
 * A recipient whose mail is sent through an account has `account:<id>` as its domain. The schedule, the site queues,
 * suspensions and the command `queue` treat it as a destination.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE connected_accounts (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('smtp', 'oauth')),
    provider text,                              -- of OAuth: the name in config/oauth-providers.ts
    name text NOT NULL,
    host text NOT NULL,
    port integer NOT NULL,
    security text NOT NULL CHECK (security IN ('tls', 'starttls', 'none')),
    username text NOT NULL,
    addresses text[] NOT NULL,                  -- allowed senders, lower case
    secret bytea NOT NULL,                      -- encrypted: the password or the refresh token
    -- Of the credentials: results of an older generation do not apply.
    generation integer NOT NULL DEFAULT 1,
    access_token bytea,                         -- encrypted
    access_expires_at timestamptz,
    refresh_claim uuid,                         -- the process that requests a new access token
    refresh_until timestamptz,                  -- how long no other process requests one
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused')),
    paused_reason text,
    paused_at timestamptz,
    connections integer NOT NULL,
    messages_per_connection integer NOT NULL,
    messages_per_minute integer,                -- null: unlimited
    test_id uuid,                               -- the last connection test
    test_asked_at timestamptz,
    test_taken_at timestamptz,
    test_result jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX connected_accounts_workspace ON connected_accounts (workspace_id, id);
  CREATE INDEX connected_accounts_expiring ON connected_accounts (access_expires_at)
    WHERE kind = 'oauth' AND state = 'active';
  CREATE TRIGGER key_change AFTER UPDATE OF addresses OR DELETE ON connected_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION announce_key_change();

  ALTER TABLE api_keys
    ADD account_id uuid REFERENCES connected_accounts ON DELETE CASCADE,
    ADD CONSTRAINT api_keys_one_sender CHECK (domain_id IS NULL OR account_id IS NULL);
  CREATE INDEX api_keys_account ON api_keys (account_id) WHERE account_id IS NOT NULL;

  CREATE TABLE oauth_states (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    account_id uuid REFERENCES connected_accounts ON DELETE CASCADE, -- the account to reconnect; null: a new one
    provider text NOT NULL,
    name text,
    email text,                                 -- the address that is expected to sign in
    verifier bytea NOT NULL,                    -- of PKCE, encrypted
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX oauth_states_expiry ON oauth_states (expires_at);
`

const DOWN = sql`
  DROP TABLE oauth_states;
  ALTER TABLE api_keys DROP account_id;
  DROP TABLE connected_accounts;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
