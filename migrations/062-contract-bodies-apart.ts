/**
 * Bodies of new mail are stored in message_bodies from here on. Processes of earlier versions read them from messages,
 * and would send mail without a text: this waits until none of them runs. One that was cut off or suspended meanwhile
 * gets no lease any more, without which nothing is sent. Earlier mail stays where it is.
 */
import { batches, brief, type MigrationStep, unlocked } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'
import { MOVE_BACK } from './061-message-bodies.ts'

/** Without earlier mail, retention never looks for bodies in messages (src/retention/deleted-data.ts). */
const UP = sql`
  UPDATE body_storage SET apart_since = CASE WHEN EXISTS (SELECT FROM messages) THEN now() ELSE 'epoch' END;
  INSERT INTO retention_progress (workspace_id, data, done_until, walk_from, gone_at)
  SELECT workspace_id, 'old_bodies', done_until, walk_from, gone_at
  FROM retention_progress
  WHERE data = 'bodies'
  ON CONFLICT DO NOTHING;
`

/** Rows of dead processes may be left from before. They are checked when one is renewed. */
const LEASES = sql`
  ALTER TABLE leases ADD CONSTRAINT leases_version CHECK (version IS NOT NULL) NOT VALID;
  DO $body$
  BEGIN
    IF NOT EXISTS (SELECT FROM leases WHERE version IS NULL) THEN
      ALTER TABLE leases VALIDATE CONSTRAINT leases_version;
    END IF;
  END $body$;
`

export const unusedSince = '0.2.0'
export const steps: readonly MigrationStep[] = [
  brief(LEASES, 'give no lease to processes of earlier versions'),
  unlocked(UP, 'store bodies of new mail in message_bodies'),
]
export const undo: readonly MigrationStep[] = [
  brief(
    'UPDATE body_storage SET apart_since = NULL; ALTER TABLE leases DROP CONSTRAINT leases_version',
    'store bodies of new mail in messages',
  ),
  batches(MOVE_BACK, 'move bodies back into messages'),
]
