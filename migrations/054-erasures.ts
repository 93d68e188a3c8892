/**
 * Requests to erase a person, and the suppressions of erased addresses: their hashes, so that mail to them stays
 * suppressed although the addresses are not stored. Guessed addresses can be tested with the hashes.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE erasures (
    id uuid PRIMARY KEY,                        -- UUIDv7
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    email text,                                 -- null once it is done
    mailbox text,                               -- canonicalMailbox(email); null once it is done
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done')),
    step text NOT NULL,                         -- src/privacy/erasure.ts
    position uuid,                              -- of the step
    is_waiting boolean NOT NULL DEFAULT false,  -- the step left mail that is being sent
    is_pass_empty boolean NOT NULL DEFAULT true, -- this pass of all steps has found nothing yet
    due_at timestamptz NOT NULL DEFAULT now(),
    failures integer NOT NULL DEFAULT 0,        -- one after another
    problem text,                               -- of the last failure
    deleted jsonb NOT NULL DEFAULT '{}',        -- rows by table
    created_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz
  );
  CREATE INDEX erasures_workspace ON erasures (workspace_id, id);
  CREATE UNIQUE INDEX erasures_mailbox ON erasures (workspace_id, mailbox) WHERE state = 'running';
  CREATE INDEX erasures_due ON erasures (due_at) WHERE state = 'running';
  CREATE TABLE erased_suppressions (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    address_hash bytea NOT NULL,                -- erased_address()
    kind text NOT NULL,
    cause text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, address_hash)
  );
  -- Of an address in lower case. The workspace is in it, so that hashes of two workspaces cannot be compared.
  CREATE FUNCTION erased_address(workspace uuid, address text) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
    AS $body$ SELECT sha256(uuid_send($1) || convert_to($2, 'UTF8')) $body$;
  CREATE TRIGGER audit_insert AFTER INSERT ON erasures REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT WHEN (coalesce(current_setting('mailstead.actor', true), '') <> '')
    EXECUTE FUNCTION audit_changes('erasure', 'id', 'state');
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP FUNCTION erased_address; DROP TABLE erased_suppressions; DROP TABLE erasures')
}
