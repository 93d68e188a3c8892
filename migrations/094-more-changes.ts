/**
 * More topics of the stream of changes (072), and the path of each enrolment. Suppressed addresses and members are
 * personal data: of suppressions a change only says that the list is another one, and of members it has the id of the
 * user.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

/** What one statement may write for a topic; a page that shows more reads it again in any case. */
const MAX_ROWS = 200

const FUNCTIONS = sql`
  -- Of a statement: one row for each workspace. Arguments: the topic.
  CREATE FUNCTION note_changed_list() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT DISTINCT workspace_id, TG_ARGV[0], 'all', 'update', '{}'::jsonb
    FROM touched
    LIMIT ${MAX_ROWS};
    IF FOUND THEN
      PERFORM pg_notify('mailstead_changes', '');
    END IF;
    RETURN NULL;
  END
  $body$;

  CREATE FUNCTION note_received_mail() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT workspace_id, 'received-emails', id::text, lower(TG_OP), jsonb_build_object('route_id', route_id)
    FROM touched
    LIMIT ${MAX_ROWS};
    IF FOUND THEN
      PERFORM pg_notify('mailstead_changes', '');
    END IF;
    RETURN NULL;
  END
  $body$;
`

interface Statements {
  readonly table: string
  readonly call: string
  readonly events: readonly ('INSERT' | 'UPDATE' | 'DELETE')[]
}

function onStatements({ table, call, events }: Statements): string {
  return events
    .map(
      (event) => sql`
        CREATE TRIGGER changes_${event.toLowerCase()} AFTER ${event} ON ${table}
          REFERENCING ${event === 'DELETE' ? 'OLD' : 'NEW'} TABLE AS touched
          FOR EACH STATEMENT EXECUTE FUNCTION ${call};
      `,
    )
    .join('\n')
}

const LISTS: readonly Statements[] = [
  { table: 'suppressions', call: `note_changed_list('suppressions')`, events: ['INSERT', 'UPDATE', 'DELETE'] },
  { table: 'invitations', call: `note_changed_list('members')`, events: ['INSERT', 'UPDATE', 'DELETE'] },
  { table: 'received_emails', call: 'note_received_mail()', events: ['INSERT', 'DELETE'] },
]

/** Arguments of note_change: topic, key, facts. An update is a change if a watched column differs. */
const ROWS = [
  { table: 'workspace_members', args: `'members', 'user_id', 'role'`, watched: ['role'] },
  {
    table: 'segments',
    args: `'segments', 'id', ''`,
    watched: ['name', 'description', 'audience_id', 'filter'],
  },
  {
    table: 'inbound_routes',
    args: `'inbound-routes', 'id', 'is_active'`,
    watched: ['local_part', 'action', 'priority', 'description', 'is_active', 'domain_id'],
  },
  { table: 'live_checks', args: `'checks', 'name', 'status'`, watched: ['status', 'detail', 'todo'] },
] as const

function onRows({ table, args, watched }: (typeof ROWS)[number]): string {
  const differs = watched.map((column) => `OLD.${column} IS DISTINCT FROM NEW.${column}`).join(' OR ')
  return sql`
    CREATE TRIGGER changes_added AFTER INSERT OR DELETE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION note_change(${args});
    CREATE TRIGGER changes_updated AFTER UPDATE ON ${table}
      FOR EACH ROW WHEN (${differs}) EXECUTE FUNCTION note_change(${args});
  `
}

const PATH = sql`
  ALTER TABLE enrolments
    ADD COLUMN path jsonb; -- the steps that were passed: [[id, milliseconds, answer], …]; null: none since this version
`

const UNDO = [
  'ALTER TABLE enrolments DROP COLUMN path;',
  ...ROWS.map(({ table }) => `DROP TRIGGER changes_added ON ${table}; DROP TRIGGER changes_updated ON ${table};`),
  'DROP FUNCTION note_changed_list, note_received_mail CASCADE;',
].join('\n')

export const steps: readonly MigrationStep[] = [
  brief(FUNCTIONS, 'create the functions of more changes'),
  ...LISTS.map((list) => brief(onStatements(list), `record changes of ${list.table}`)),
  ...ROWS.map((row) => brief(onRows(row), `record changes of ${row.table}`)),
  brief(PATH, 'record the path of enrolments'),
]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove the changes of more tables')]
