/**
 * Bodies of messages in a table of their own, so that a week of them is dropped while the messages stay. Whether new
 * mail is stored there says `body_storage`: until the contract migration 062, bodies are stored in `messages`, since
 * outbound processes of an earlier version read them from there.
 */
import { batches, brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE message_bodies (
    message_id uuid PRIMARY KEY,
    html text,
    body_text text,
    raw bytea                                   -- the whole message as it goes out, without its signatures
  ) PARTITION BY RANGE (message_id);
  ALTER TABLE message_bodies ALTER COLUMN raw SET STORAGE EXTERNAL;
  -- Its body is stored in message_bodies; false: in the message itself, or it has deferred content.
  ALTER TABLE messages ADD COLUMN has_body_row boolean NOT NULL DEFAULT false;
  CREATE TABLE body_storage (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    apart_since timestamptz                     -- null: bodies of new mail are stored in messages
  );
  INSERT INTO body_storage DEFAULT VALUES;
  -- Of the process; null before 0.2.0. Migration 062 needs it.
  ALTER TABLE leases ADD COLUMN version text;
`

const DOWN = sql`
  ALTER TABLE messages DROP COLUMN has_body_row;
  ALTER TABLE leases DROP COLUMN version;
  DROP TABLE body_storage;
  DROP TABLE message_bodies;
`

/** Nothing is stored there after 062 was undone; a process that ran meanwhile may have stored something. */
export const MOVE_BACK = sql`
  WITH moved AS (
    DELETE FROM message_bodies
    WHERE message_id IN (
      SELECT message_id
      FROM message_bodies
      ORDER BY message_id
      LIMIT 1000
    )
    RETURNING *
  )
  UPDATE messages m SET html = b.html, body_text = b.body_text, raw = b.raw, has_body_row = false
  FROM moved b
  WHERE m.id = b.message_id
`

export const steps: readonly MigrationStep[] = [brief(UP, 'create message_bodies')]
export const undo: readonly MigrationStep[] = [
  batches(MOVE_BACK, 'move bodies back into messages'),
  brief(DOWN, 'drop message_bodies'),
]
