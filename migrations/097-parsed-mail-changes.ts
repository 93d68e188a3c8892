/**
 * The stream of changes (072, 094) also reports that received mail was parsed: until then a page that showed the mail
 * as it arrived went on saying "Being parsed". Claims of the parser change a row, too, and are no change. The function
 * of 072 is not used here, because it would copy the whole mail.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const FUNCTION = sql`
  CREATE FUNCTION note_parsed_mail() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    VALUES (NEW.workspace_id, 'received-emails', NEW.id::text, 'update', jsonb_build_object('route_id', NEW.route_id));
    PERFORM pg_notify('mailstead_changes', '');
    RETURN NULL;
  END
  $body$;
`

const TRIGGER = sql`
  CREATE TRIGGER changes_parsed AFTER UPDATE ON received_emails
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION note_parsed_mail();
`

export const steps: readonly MigrationStep[] = [
  brief(FUNCTION, 'create the function of parsed mail'),
  brief(TRIGGER, 'record that received mail was parsed'),
]

export const undo: readonly MigrationStep[] = [
  brief('DROP FUNCTION note_parsed_mail CASCADE;', 'do not record that received mail was parsed'),
]
