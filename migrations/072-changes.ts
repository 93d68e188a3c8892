/**
 * Changes of objects that pages show, for the stream of changes (src/change-stream). Triggers write a row in the
 * transaction that changes an object, and notify the api processes. A row has the id of the object and a few facts
 * such as its state; no address, body or secret. Rows are deleted after half an hour (worker/housekeeping.ts). Mail is
 * not here: its changes are read from `events`.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

/**
 * `table: topic; key; facts; watched columns`. An update is a change if a fact or a watched column differs.
 */
const WATCHED = `
domains: domains; id; verification_status; is_trusted egress_pool dkim_zone
templates: templates; id; version; name subject category
api_keys: api-keys; id; is_active; name scopes expires_at secret_hash
connected_accounts: accounts; id; state; name host port username connections messages_per_minute
audiences: audiences; id; contact_count; name description is_double_opt_in deleted_at
automations: automations; id; status enrolled_count active_count completed_count; name version trigger_config
campaigns: campaigns; id; status; name subject template_id scheduled_at audience_ids segment_id updated_at winner
imports: imports; id; state bytes position row_count added updated failed; audience_id
webhook_endpoints: webhooks; id; is_active; url description event_types disabled_reason previous_until
suspensions: suspensions; subject; kind; reason until
operator_notices: notices; id; kind count; acknowledged_at text
nodes: nodes; name; is_draining;
node_processes: nodes; node; is_drained; sources version roles
`

/** What one statement may write for a topic; a page that shows more reads it again in any case. */
const MAX_ROWS = 200

const TABLE = sql`
  CREATE TABLE changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
    workspace_id uuid,                          -- null: of the service. No foreign key: it outlives the workspace
    topic text NOT NULL,                        -- src/change-stream/topics.ts
    object text NOT NULL,                       -- its id or name
    change text NOT NULL,                       -- 'insert', 'update' or 'delete'
    facts jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX changes_tx ON changes (tx);
`

/** Arguments of the first: topic, key, facts. */
const FUNCTIONS = sql`
  CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $body$
  DECLARE
    item jsonb := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT (item ->> 'workspace_id')::uuid, TG_ARGV[0], item ->> TG_ARGV[1], lower(TG_OP),
      coalesce(jsonb_object_agg(name, item -> name), '{}')
    FROM unnest(string_to_array(TG_ARGV[2], ' ')) AS f (name);
    PERFORM pg_notify('mailstead_changes', '');
    RETURN NULL;
  END
  $body$;

  CREATE FUNCTION note_webhook_attempts() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT e.workspace_id, 'webhooks', e.id::text, 'update', jsonb_build_object('new_attempts', a.attempts)
    FROM (SELECT endpoint_id, count(*) AS attempts FROM added GROUP BY endpoint_id) a
    JOIN webhook_endpoints e ON e.id = a.endpoint_id
    LIMIT ${MAX_ROWS};
    IF FOUND THEN
      PERFORM pg_notify('mailstead_changes', '');
    END IF;
    RETURN NULL;
  END
  $body$;

  CREATE FUNCTION note_captured_mail() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO changes (workspace_id, topic, object, change, facts)
    SELECT workspace_id, 'captured-emails', id::text, 'insert', '{}'
    FROM added
    WHERE workspace_id IS NOT NULL
    LIMIT ${MAX_ROWS};
    IF FOUND THEN
      PERFORM pg_notify('mailstead_changes', '');
    END IF;
    RETURN NULL;
  END
  $body$;
`

function triggersOf(row: string): string {
  const [table = '', rest = ''] = row.split(/: (.*)/)
  const [topic = '', key = '', facts = '', others = ''] = rest.split(/; ?/)
  const watched = `${facts} ${others}`.trim().split(/\s+/)
  const differs = watched.map((column) => `OLD.${column} IS DISTINCT FROM NEW.${column}`).join(' OR ')
  const run = `FOR EACH ROW EXECUTE FUNCTION note_change('${topic}', '${key}', '${facts}')`
  return sql`
    CREATE TRIGGER changes_added AFTER INSERT OR DELETE ON ${table} ${run};
    CREATE TRIGGER changes_updated AFTER UPDATE ON ${table}
      ${run.replace('FOR EACH ROW', `FOR EACH ROW WHEN (${differs})`)};
  `
}

const BATCH_TRIGGERS = sql`
  CREATE TRIGGER changes_added AFTER INSERT ON webhook_attempts REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_webhook_attempts();
  CREATE TRIGGER changes_added AFTER INSERT ON sandbox_inbox REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_captured_mail();
`

const ROWS = WATCHED.trim().split('\n')

/** A step for each table: one that must wait for its lock holds no other meanwhile. */
export const steps: readonly MigrationStep[] = [
  brief(TABLE + FUNCTIONS, 'create the table of changes'),
  ...ROWS.map((row) => brief(triggersOf(row), `record changes of ${row.split(':')[0] ?? ''}`)),
  brief(BATCH_TRIGGERS, 'record webhook attempts and captured mail'),
]

export const undo: readonly MigrationStep[] = [
  brief(
    sql`
      DROP FUNCTION note_change, note_webhook_attempts, note_captured_mail CASCADE;
      DROP TABLE changes
    `,
    'remove the table of changes',
  ),
]
