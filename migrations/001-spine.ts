/**
 * The core tables: workspaces, keys, domains, templates, messages and recipients, attempts, events, webhooks, leases.
 * messages, attachments, recipients, attempts and events are partitioned by the time in their UUIDv7 (see
 * src/stores/partitions.ts), so an id alone determines its partition, and retention drops whole partitions.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const ACCOUNTS = sql`
  CREATE TABLE workspaces (
    id uuid PRIMARY KEY,
    key_part text NOT NULL UNIQUE,              -- lower-case hex inside every key of the workspace
    name text NOT NULL,
    plan text NOT NULL,
    reply_to text,                              -- the address that reply_to: true stands for
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE domains (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    domain text NOT NULL,
    verification_status text NOT NULL DEFAULT 'pending'
      CHECK (verification_status IN ('pending', 'verified', 'failed', 'degraded')),
    region text NOT NULL DEFAULT 'us-east-1',
    verified_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, domain)
  );
  -- Several workspaces may add a domain; only one of them can verify it.
  CREATE UNIQUE INDEX domains_owner ON domains (domain) WHERE verification_status IN ('verified', 'degraded');
  CREATE TABLE dkim_keys (
    id uuid PRIMARY KEY,
    domain_id uuid NOT NULL REFERENCES domains ON DELETE CASCADE,
    selector text NOT NULL,
    algorithm text NOT NULL CHECK (algorithm IN ('rsa-sha256', 'ed25519-sha256')),
    private_key bytea NOT NULL,                 -- PKCS#8 DER, encrypted
    dns_value text NOT NULL,                    -- the TXT record that publishes the public half
    is_active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (domain_id, selector)
  );
  CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('regular', 'admin')),
    name text NOT NULL,
    secret_hash bytea NOT NULL UNIQUE,          -- SHA-256 of the whole key; the key itself is never stored
    scopes text[] NOT NULL DEFAULT '{}',
    domain_id uuid REFERENCES domains ON DELETE CASCADE,
    is_active boolean NOT NULL DEFAULT true,
    expires_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX api_keys_workspace ON api_keys (workspace_id);
  CREATE TABLE usage (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    period date NOT NULL,                       -- first day of the month, UTC
    used bigint NOT NULL,
    PRIMARY KEY (workspace_id, period)
  ) WITH (fillfactor = 50);
  CREATE TABLE suppressions (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    address text NOT NULL,                      -- lower case
    cause text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, address)
  );
  CREATE TABLE templates (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    subject text NOT NULL,
    body text NOT NULL,
    description text,
    category text,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX templates_workspace ON templates (workspace_id, created_at);
`

const MAIL = sql`
  CREATE TABLE messages (
    id uuid NOT NULL PRIMARY KEY,               -- UUIDv7
    workspace_id uuid NOT NULL,
    api_key_id uuid,
    domain_id uuid,
    tier text NOT NULL,
    from_email text NOT NULL,
    from_name text,
    reply_to jsonb,                             -- {email, name}
    to_list jsonb NOT NULL,                     -- [{email, name}]
    cc_list jsonb,
    subject text NOT NULL,
    html text,
    body_text text,
    headers jsonb,                              -- [[name, value]]
    tags text[],
    metadata jsonb,
    has_attachments boolean NOT NULL DEFAULT false,
    -- Characters of html and text plus bytes of attachments: an estimate of what loading the message costs.
    content_size integer NOT NULL,
    track_opens boolean,
    track_clicks boolean,
    recipient_count smallint NOT NULL,
    event_count integer NOT NULL DEFAULT 0,     -- last event sequence of a message with several recipients
    scheduled_at timestamptz,
    timezone text,
    expires_at timestamptz,
    created_at timestamptz NOT NULL
  ) PARTITION BY RANGE (id);
  CREATE INDEX messages_workspace ON messages (workspace_id, id);
  CREATE INDEX messages_scheduled ON messages (workspace_id, scheduled_at) WHERE scheduled_at IS NOT NULL;
  CREATE TABLE attachments (
    message_id uuid NOT NULL,
    n smallint NOT NULL,
    filename text NOT NULL,
    content_type text NOT NULL,
    content_id text,
    content bytea NOT NULL,
    PRIMARY KEY (message_id, n)
  ) PARTITION BY RANGE (message_id);
  CREATE TABLE recipients (
    message_id uuid NOT NULL,
    n smallint NOT NULL,
    workspace_id uuid NOT NULL,
    tier text NOT NULL,
    kind text NOT NULL,                         -- to, cc or bcc
    address text NOT NULL,
    domain text NOT NULL,
    state text NOT NULL,                        -- src/messages/state.ts
    is_open boolean NOT NULL,                   -- not final; a separate column so that a claim stays a HOT update
    due_at timestamptz NOT NULL,
    lease bigint,                               -- fencing token of the process that sends it
    attempts smallint NOT NULL DEFAULT 0,       -- claims that led to an attempt
    tries smallint NOT NULL DEFAULT 0,          -- replies to this message; only these count as tries
    -- The message has no other recipient: its events are numbered here, not in messages.
    is_only boolean NOT NULL,
    sequence integer NOT NULL DEFAULT 0,        -- last event sequence, if is_only
    reason text,                                -- why it is in this state, as text
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (message_id, n)
  ) PARTITION BY RANGE (message_id);
  CREATE INDEX recipients_open ON recipients (tier, due_at) WHERE is_open;
  CREATE TABLE attempts (
    message_id uuid NOT NULL,
    n smallint NOT NULL,
    attempt smallint NOT NULL,
    at timestamptz NOT NULL,
    outcome text NOT NULL,
    scope text,
    reason text,
    reply_code smallint,
    reply_status text,
    reply_text text,
    host text,
    address text,
    source text,
    tls text,
    duration_ms integer NOT NULL,
    conversation text NOT NULL,
    PRIMARY KEY (message_id, n, attempt)
  ) PARTITION BY RANGE (message_id);
  CREATE TABLE events (
    id uuid NOT NULL,                           -- UUIDv7, evt_<hex>
    workspace_id uuid NOT NULL,
    type text NOT NULL,
    message_id uuid,
    n smallint,
    sequence integer,
    recipient text,
    data jsonb,
    created_at timestamptz NOT NULL
  ) PARTITION BY RANGE (id);
  CREATE INDEX events_message ON events (message_id, sequence);
  CREATE INDEX events_workspace ON events (workspace_id, id);
  CREATE TABLE idempotency_keys (
    workspace_id uuid NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    answer text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, key)
  );
  CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
  CREATE TABLE leases (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    machine text NOT NULL,                      -- boot id and pid namespace: pids are valid only inside it
    pid integer NOT NULL,
    expires_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now()
  );
`

const REPORTING = sql`
  CREATE TABLE webhook_endpoints (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    url text NOT NULL,
    description text,
    event_types text[] NOT NULL,                -- '*' = all
    secret bytea NOT NULL,                      -- encrypted
    previous_secret bytea,                      -- encrypted; also signs until previous_until
    previous_until timestamptz,
    is_active boolean NOT NULL DEFAULT true,
    disabled_reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX webhook_endpoints_workspace ON webhook_endpoints (workspace_id);
  CREATE TABLE webhook_deliveries (
    event_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,                  -- no foreign key: rows of a deleted endpoint are deleted in slices
    workspace_id uuid NOT NULL,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    tries smallint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    leased_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, endpoint_id)
  ) WITH (fillfactor = 60);
  CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (endpoint_id, due_at, event_id) WHERE state = 'pending';
  CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (endpoint_id, event_id);
  CREATE TABLE webhook_attempts (
    event_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    attempt smallint NOT NULL,
    at timestamptz NOT NULL,
    url text NOT NULL,
    request_headers jsonb NOT NULL,
    request_body text NOT NULL,
    status smallint,
    response_body text,
    error text,
    duration_ms integer NOT NULL,
    PRIMARY KEY (event_id, endpoint_id, attempt)
  );
  CREATE TABLE sandbox_inbox (
    id uuid PRIMARY KEY,
    received_at timestamptz NOT NULL,
    mail_from text NOT NULL,
    rcpt_to text NOT NULL,
    header_from text,
    subject text,
    message_id uuid,                            -- of our message, read from the return-path
    tls text,
    dkim jsonb NOT NULL,                        -- [{domain, selector, algorithm, result, comment}]
    raw bytea NOT NULL
  );
  CREATE INDEX sandbox_inbox_received ON sandbox_inbox (received_at);
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw([ACCOUNTS, MAIL, REPORTING].join('\n'))
}

export const cannotUndo = '001-spine is the beginning; restore a backup instead of going back'
