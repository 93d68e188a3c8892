/** The backups that were made, for `mailstead doctor`, and the mail that a restored database lacks. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE backups (
    id uuid PRIMARY KEY,
    snapshot_at timestamptz NOT NULL,           -- the backup has all changes until then
    ended_at timestamptz NOT NULL DEFAULT now(),
    target text NOT NULL,                       -- where it is, without credentials
    bytes bigint NOT NULL,
    is_encrypted boolean NOT NULL
  );
  CREATE INDEX backups_ended ON backups (ended_at);
  -- One row for each recipient of a message that was accepted, and that a restored database does not have.
  CREATE TABLE lost_mail (
    message_id uuid NOT NULL,
    recipient text NOT NULL,                    -- the address, or only its domain: '@receiver.example'
    sender text,                                -- null: unknown
    outcome text,                               -- the last transition in a log; null: it was waiting
    source text NOT NULL CONSTRAINT lost_mail_source CHECK (source IN ('redis', 'log', 'journal')),
    at timestamptz NOT NULL,                    -- of the outcome, else of the acceptance
    found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (message_id, recipient)
  );
  CREATE TRIGGER audit_insert AFTER INSERT ON backups REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT WHEN (coalesce(current_setting('mailstead.actor', true), '') <> '')
  EXECUTE FUNCTION audit_changes('backup', 'id', 'snapshot_at target bytes is_encrypted');
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE lost_mail; DROP TABLE backups')
}
