/**
 * Changes of what operators watch, for the stream of changes (072): reviews of the suppression list, their actions on
 * the queue, and DMARC and TLS reports that were stored; and of a workspace, DMARC reports about its domains. A review
 * says who requested it and, once an inbound process of this version has begun it, how many entries there are.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

/** What one statement may write for a topic; a page that shows more reads it again in any case. */
const MAX_ROWS = 200

const COLUMNS = sql`
  ALTER TABLE suppression_reviews
    ADD COLUMN requested_by text,               -- the name of the operator; null: requested by an earlier version
    ADD COLUMN total bigint                     -- entries to check, counted at the beginning; null: not counted
`

const FUNCTIONS = sql`
  CREATE FUNCTION note_dmarc_reports() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT DISTINCT workspace_id, 'dmarc-reports', domain_id::text, 'insert', '{}'::jsonb
    FROM touched
    LIMIT ${MAX_ROWS};
    RETURN NULL;
  END
  $body$;

  -- Of a statement that stored at least one. Argument: their kind.
  CREATE FUNCTION note_reports() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT NULL, 'reports', TG_ARGV[0], 'insert', '{}'
    WHERE EXISTS (SELECT FROM touched);
    IF FOUND THEN
      PERFORM pg_notify('mailstead_changes', '');
    END IF;
    RETURN NULL;
  END
  $body$;
`

const onStored = (table: string, name: string, call: string): string => sql`
  CREATE TRIGGER ${name} AFTER INSERT ON ${table} REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION ${call};
`

const REPORTS = [
  onStored('dmarc_reports', 'changes_of_domains', 'note_dmarc_reports()'),
  onStored('dmarc_reports', 'changes_of_service', `note_reports('dmarc')`),
  onStored('received_tls_reports', 'changes_of_service', `note_reports('tls')`),
].join('\n')

/** Arguments of note_change: topic, key, facts. An update is a change if a watched column differs. */
const ROWS = [
  {
    table: 'suppression_reviews',
    args: `'suppression-reviews', 'id', 'seen found'`,
    watched: ['seen', 'found', 'total', 'ended_at'],
  },
  { table: 'operator_actions', args: `'actions', 'id', 'state'`, watched: ['state', 'moved', 'seen'] },
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

const UNDO = [
  'DROP FUNCTION note_dmarc_reports, note_reports CASCADE;',
  ...ROWS.map(({ table }) => `DROP TRIGGER changes_added ON ${table}; DROP TRIGGER changes_updated ON ${table};`),
  'ALTER TABLE suppression_reviews DROP COLUMN requested_by, DROP COLUMN total;',
].join('\n')

export const steps: readonly MigrationStep[] = [
  brief(COLUMNS, 'record who requested a review, and its length'),
  brief(FUNCTIONS, 'create the functions of changes of reports'),
  brief(REPORTS, 'record that reports were stored'),
  ...ROWS.map((row) => brief(onRows(row), `record changes of ${row.table}`)),
]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove the changes of reports, reviews and actions')]
