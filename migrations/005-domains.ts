/**
 * Verification of sending domains: the last DNS check and the time of the next, the start of the status, the DNS
 * provider and the registration; the state of each DKIM key; and removed domains whose queued mail must still be
 * failed.
 *
 * A claim moves the due time of a check forward, so that any number of workers share the checks, and a crashed worker
 * delays a check only briefly.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE domains
    -- Verified by the operator: DNS checks do not change the status.
    ADD is_trusted boolean NOT NULL DEFAULT false,
    ADD status_since timestamptz NOT NULL DEFAULT now(),
    ADD missing_since timestamptz,                      -- verified, and the last check did not find its key in DNS
    ADD mail_from_status text NOT NULL DEFAULT 'pending' CHECK (mail_from_status IN ('pending', 'verified', 'failed')),
    ADD tracking_status text NOT NULL DEFAULT 'pending' CHECK (tracking_status IN ('pending', 'verified', 'failed')),
    ADD checks jsonb,                                   -- the result of the last check, by record
    ADD checked_at timestamptz,                         -- when that check began
    ADD check_begun_at timestamptz,                     -- when the latest check began, finished or not
    ADD check_due_at timestamptz DEFAULT now() + interval '2 minutes', -- null: only on request
    ADD dns_provider text,
    ADD registrar_name text,
    ADD registrar_iana_id text,
    ADD registrar_last_checked_at timestamptz,
    ADD registration_due_at timestamptz NOT NULL DEFAULT now();
  CREATE INDEX domains_check_due ON domains (check_due_at) WHERE check_due_at IS NOT NULL;
  CREATE INDEX domains_registration_due ON domains (registration_due_at);

  ALTER TABLE dkim_keys
    DROP is_active,
    -- src/domains/key-state.ts
    ADD state text NOT NULL DEFAULT 'active' CHECK (state IN ('waiting', 'active', 'retired', 'removable')),
    ADD state_since timestamptz NOT NULL DEFAULT now(),
    ADD seen_at timestamptz;                            -- state waiting: in DNS without interruption since then
  -- One rotation at a time.
  CREATE UNIQUE INDEX dkim_keys_one_waiting ON dkim_keys (domain_id, algorithm) WHERE state = 'waiting';

  -- API keys of a domain are deleted with it.
  CREATE INDEX api_keys_domain ON api_keys (domain_id) WHERE domain_id IS NOT NULL;

  CREATE TABLE domain_removals (
    domain_id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL,
    domain text NOT NULL,
    removed_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL
  );
  CREATE INDEX domain_removals_due ON domain_removals (due_at);
`

const DOWN = sql`
  DROP TABLE domain_removals;
  DROP INDEX api_keys_domain;
  DELETE FROM dkim_keys
  WHERE state <> 'active';
  ALTER TABLE dkim_keys
    DROP state,
    DROP state_since,
    DROP seen_at,
    ADD is_active boolean NOT NULL DEFAULT true;
  ALTER TABLE domains
    DROP is_trusted,
    DROP status_since,
    DROP missing_since,
    DROP mail_from_status,
    DROP tracking_status,
    DROP checks,
    DROP checked_at,
    DROP check_begun_at,
    DROP check_due_at,
    DROP dns_provider,
    DROP registrar_name,
    DROP registrar_iana_id,
    DROP registrar_last_checked_at,
    DROP registration_due_at;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
