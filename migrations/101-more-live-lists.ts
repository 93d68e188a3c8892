/**
 * Further changes for the stream of changes (072): received bounces and complaints, suppressions on hold, and erasures
 * of people. Addresses are in none of them. Bounces have triggers without their rows: a copy of each report would
 * double what an inbound process writes. A statement that stores none is a change, too; a page then reads once more.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const FUNCTIONS = sql`
  CREATE FUNCTION note_bounces() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    VALUES (NULL, 'reports', 'bounces', lower(TG_OP), '{}');
    PERFORM pg_notify('mailstead_changes', '');
    RETURN NULL;
  END
  $body$;

  CREATE FUNCTION note_held_suppressions() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT NULL, 'held-suppressions', 'all', 'update', '{}'
    WHERE EXISTS (SELECT FROM touched);
    IF FOUND THEN
      PERFORM pg_notify('mailstead_changes', '');
    END IF;
    RETURN NULL;
  END
  $body$;
`

/** Stored, and processed. */
const BOUNCES = sql`
  CREATE TRIGGER changes_insert AFTER INSERT ON inbound_reports
    FOR EACH STATEMENT EXECUTE FUNCTION note_bounces();
  CREATE TRIGGER changes_update AFTER UPDATE ON inbound_reports
    FOR EACH STATEMENT EXECUTE FUNCTION note_bounces();
`

const HELD = (['INSERT', 'UPDATE', 'DELETE'] as const)
  .map(
    (event) => sql`
      CREATE TRIGGER changes_${event.toLowerCase()} AFTER ${event} ON held_suppressions
        REFERENCING ${event === 'DELETE' ? 'OLD' : 'NEW'} TABLE AS touched
        FOR EACH STATEMENT EXECUTE FUNCTION note_held_suppressions();
    `,
  )
  .join('\n')

/** Arguments of note_change: topic, key, facts. */
const NOTE_ERASURE = `note_change('erasures', 'id', 'state is_waiting')`
const IS_PROGRESS = ['state', 'is_waiting', 'problem', 'deleted']
  .map((column) => `OLD.${column} IS DISTINCT FROM NEW.${column}`)
  .join(' OR ')

const ERASURES = sql`
  CREATE TRIGGER changes_added AFTER INSERT ON erasures
    FOR EACH ROW EXECUTE FUNCTION ${NOTE_ERASURE};
  CREATE TRIGGER changes_updated AFTER UPDATE ON erasures
    FOR EACH ROW WHEN (${IS_PROGRESS}) EXECUTE FUNCTION ${NOTE_ERASURE};
`

const UNDO = [
  'DROP TRIGGER changes_added ON erasures; DROP TRIGGER changes_updated ON erasures;',
  'DROP FUNCTION note_bounces, note_held_suppressions CASCADE;',
].join('\n')

export const steps: readonly MigrationStep[] = [
  brief(FUNCTIONS, 'create the functions of changes of bounces and held suppressions'),
  brief(BOUNCES, 'record that bounces were stored'),
  brief(HELD, 'record changes of held_suppressions'),
  brief(ERASURES, 'record changes of erasures'),
]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove the changes of bounces, holds and erasures')]
