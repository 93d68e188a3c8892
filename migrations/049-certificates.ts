/**
 * Certificates that are requested from an authority (ACME, RFC 8555), for all processes of the installation: what each
 * process needs, what was issued, and the challenges that the authority reads meanwhile. Private keys are sealed for
 * the roles that serve the certificate (src/crypto/purposes.ts). A change of a certificate is announced on the channel
 * mailstead_certificates when it commits.
 */
import type { Knex } from 'knex'
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE acme_accounts (
    id uuid PRIMARY KEY,
    directory text NOT NULL UNIQUE,             -- URL of the authority
    private_key bytea NOT NULL,                 -- PEM, encrypted for the worker
    url text,                                   -- of the account; null: not registered yet
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE acme_turn (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), -- one row: one process requests at a time
    holder uuid,
    held_until timestamptz NOT NULL
  );
  INSERT INTO acme_turn (held_until)
  VALUES (now());

  CREATE TABLE certificates (
    id uuid PRIMARY KEY,
    use text NOT NULL CHECK (use IN ('web', 'smtp')),
    name text NOT NULL,
    other_names text[] NOT NULL DEFAULT '{}',   -- further names of the same certificate
    origin text NOT NULL CHECK (origin IN ('settings', 'tracking', 'operator')),
    wanted_at timestamptz NOT NULL DEFAULT now(), -- when a process last needed it
    due_at timestamptz NOT NULL DEFAULT now(),  -- when it is requested next
    failures integer NOT NULL DEFAULT 0,        -- requests that failed since the last success
    failing_since timestamptz,
    last_error text,
    chain text,                                 -- PEM; null: none was issued yet
    web_private_key bytea,                      -- PEM, encrypted for the api
    smtp_private_key bytea,                     -- PEM, encrypted for submission and inbound
    issued_at timestamptz,
    expires_at timestamptz,
    UNIQUE (use, name)
  );
  CREATE INDEX certificates_due ON certificates (due_at);

  CREATE TABLE certificate_challenges (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('http-01', 'tls-alpn-01')),
    name text NOT NULL,
    token text NOT NULL,
    response text NOT NULL,                     -- the key authorization, or the certificate with it in PEM
    private_key bytea,                          -- of that certificate, sealed for the api
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX certificate_challenges_token ON certificate_challenges (token);
  CREATE INDEX certificate_challenges_name ON certificate_challenges (name);

  CREATE FUNCTION announce_certificate_change() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    PERFORM pg_notify('mailstead_certificates', '');
    RETURN NULL;
  END $body$;
  CREATE TRIGGER certificate_change AFTER UPDATE OF chain OR DELETE ON certificates
  FOR EACH STATEMENT EXECUTE FUNCTION announce_certificate_change();
`

const DOWN = sql`
  DROP TABLE certificate_challenges;
  DROP TABLE certificates;
  DROP FUNCTION announce_certificate_change();
  DROP TABLE acme_turn;
  DROP TABLE acme_accounts;
`

/** The triggers of the audit log: what an operator requests, renews and removes. */
const AUDIT = auditTriggers('certificates', `'certificate', 'name', 'use name other_names origin due_at'`)

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP + AUDIT)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
