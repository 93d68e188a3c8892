/**
 * The audit log: who changed what, with the values before and after. Triggers write it in the transaction of the change
 * when that transaction names an actor (`mailstead.actor`, set by `Db.attributedTo`); the work of loops names none. A
 * row has only the columns that are listed here, so a column that is added later is never shown by accident, and the
 * value of a secret never: only that it changed. A statement with very many rows is one entry with their number.
 *
 * When a contact is deleted, its values are removed from the log too (erasure); the entries stay.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

/** More rows of one statement are one entry. */
const MAX_ROWS = 100
/** Longer values are cut. */
const MAX_VALUE = 4000
const CUT_TO = 500

/**
 * `table: kind; key columns, the last of which names the object; shown columns`. `!` marks a secret, of which only its
 * change is shown; `/` marks text whose URLs are shown without user, path and query, which may contain tokens.
 */
const AUDITED = `
workspaces: workspace; id; name plan reply_to egress_pool track_opens track_clicks tracking_privacy tracking_domain_id
domains: domain; id; domain region verification_status is_trusted egress_pool
dkim_keys: dkim_key; id; domain_id selector algorithm state private_key!
api_keys: api_key; id; name kind scopes domain_id account_id is_active expires_at secret_hash!
connected_accounts: account; id; name kind provider host port security username addresses state paused_reason
  connections messages_per_connection messages_per_minute secret!
templates: template; id; name subject body description category version
template_partials: partial; workspace_id,name; name body version
webhook_endpoints: webhook; id; url/ description event_types is_active disabled_reason previous_until secret!
audiences: audience; id; name description is_double_opt_in deleted_at
contacts: contact; id; email first_name last_name company_name job_title phone_number linkedin timezone tags
  custom_attributes custom_headers opted_out_at
memberships: membership; audience_id,contact_id; audience_id contact_id is_subscribed
segments: segment; id; name description audience_id filter
imports: import; id; audience_id state is_dry_run
suppressions: suppression; workspace_id,address; address kind cause
campaigns: campaign; id; name status template_id subject subject_b body text_body from_email from_name reply_to
  audience_ids segment_id scheduled_at timezone test_percent test_minutes send_mode spread_minutes local_time
  track_opens track_clicks is_forced follows_id generation
automations: automation; id; name status trigger_type trigger_config version
automation_versions: automation_version; version,automation_id; automation_id version steps/
enrolments: enrolment; automation_id,id; automation_id contact_id state reason
sandbox_inbox: captured_email; id; header_from rcpt_to subject
egress_sources: source; id; name address ehlo_name region paused_at warming_since
egress_pools: pool; name; name
egress_members: pool_member; source_id,pool; pool source_id weight
suspensions: suspension; kind,subject; kind subject reason until
receiver_suspensions: receiver_suspension; id; pace source workspace_id rule until
tls_rules: tls_rule; domain; domain level
operator_notices: notice; id; kind subject acknowledged_at acknowledged_by
`

/** Scheme and host of a URL in JSON. Without a question mark, which knex would take for a parameter. */
const URL_PATTERN = String.raw`(https{0,1}://)([^/@\s"\\]*@){0,1}([^/@\s"\\\u003f#]*)([^\s"\\]|\\.)*`

const TABLE = sql`
  CREATE TABLE audit_log (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time of the change
    workspace_id uuid,                          -- null: of the service. No foreign key: it outlives the workspace
    actor_kind text NOT NULL CONSTRAINT audit_log_actor_kind CHECK (actor_kind IN ('key', 'operator', 'cli')),
    actor text NOT NULL,                        -- id of the key, name of the operator, or user and host of a command
    address text,                               -- the client's IP address
    request_id text,
    action text NOT NULL,                       -- the name of the route, or the command
    kind text NOT NULL,                         -- of the changed object
    object text NOT NULL,                       -- its id, address or name; '' for many
    change text NOT NULL CONSTRAINT audit_log_change CHECK (change IN ('create', 'update', 'delete')),
    before jsonb,
    after jsonb
  );
  CREATE INDEX audit_log_workspace ON audit_log (workspace_id, id);
  CREATE INDEX audit_log_object ON audit_log (object, kind);
`

const FUNCTIONS = sql`
  -- The one place that writes an entry. Without an actor it writes none.
  CREATE FUNCTION record_audit(
    kind text, object text, workspace uuid, change text, before jsonb, after jsonb
  ) RETURNS void LANGUAGE sql VOLATILE AS $body$
    INSERT INTO audit_log
    SELECT new_enrolment_id(), coalesce($3, (a ->> 'workspaceId')::uuid), a ->> 'kind', a ->> 'name', a ->> 'address',
      a ->> 'requestId', a ->> 'action', $1, $2, $4, $5, $6
    FROM (SELECT nullif(current_setting('mailstead.actor', true), '')::jsonb AS a) actors
    WHERE a IS NOT NULL
  $body$;

  CREATE FUNCTION audit_values(given jsonb, columns text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $body$
    SELECT CASE WHEN $1 IS NOT NULL THEN coalesce(jsonb_object_agg(name, CASE
      WHEN value = 'null' THEN value
      WHEN style = '!' THEN '"(hidden)"'
      WHEN length(value::text) > ${MAX_VALUE} AND style <> '/'
      THEN to_jsonb(left(value::text, ${CUT_TO}) || '… (' || length(value::text) || ' characters)')
      WHEN style = '/' THEN regexp_replace(
        value::text, '${URL_PATTERN}', '\\1\\3/…', 'gi'
      )::jsonb
      ELSE value
    END), '{}') END
    FROM (
      SELECT rtrim(c, '!/') AS name, right(c, 1) AS style, $1 -> rtrim(c, '!/') AS value
      FROM unnest($2) c
    ) listed
    WHERE value IS NOT NULL
  $body$;

  -- The columns whose values differ.
  CREATE FUNCTION audit_changed(before jsonb, after jsonb, columns text[]) RETURNS text[]
  LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(array_agg(c), '{}')
    FROM unnest($3) c
    WHERE $1 -> rtrim(c, '!/') IS DISTINCT FROM $2 -> rtrim(c, '!/')
  $body$;

  CREATE FUNCTION audit_workspace(kind text, given jsonb) RETURNS uuid LANGUAGE sql STABLE AS $body$
    SELECT CASE
      WHEN $1 = 'workspace' OR ($1 = 'suspension' AND $2 ->> 'kind' = 'workspace')
      THEN coalesce($2 ->> 'subject', $2 ->> 'id')::uuid
      WHEN $1 = 'dkim_key' THEN (SELECT workspace_id FROM domains WHERE id = ($2 ->> 'domain_id')::uuid)
      WHEN $1 = 'automation_version'
      THEN (SELECT workspace_id FROM automations WHERE id = ($2 ->> 'automation_id')::uuid)
      ELSE ($2 ->> 'workspace_id')::uuid
    END
  $body$;
`

/** Arguments of the triggers: kind, key columns, shown columns. */
const TRIGGER_FUNCTION = sql`
  CREATE FUNCTION audit_changes() RETURNS trigger LANGUAGE plpgsql AS $body$
  DECLARE
    of_kind text := TG_ARGV[0];
    keys text[] := string_to_array(TG_ARGV[1], ',');
    shown text[] := string_to_array(TG_ARGV[2], ' ');
    verb text := CASE TG_OP WHEN 'INSERT' THEN 'create' ELSE lower(TG_OP) END;
    old_data jsonb[];
    new_data jsonb[];
    many bigint;
  BEGIN
    IF TG_OP = 'INSERT' THEN
      many := (SELECT count(*) FROM added);
    ELSE
      many := (SELECT count(*) FROM removed);
    END IF;
    IF many > ${MAX_ROWS} THEN
      PERFORM record_audit(of_kind, '', NULL, verb, NULL, jsonb_build_object('rows', many));
      RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
      old_data := ARRAY(SELECT to_jsonb(r) FROM removed r);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      new_data := ARRAY(SELECT to_jsonb(a) FROM added a);
    END IF;
    PERFORM record_audit(
      of_kind, coalesce(n, o) ->> keys[cardinality(keys)], audit_workspace(of_kind, coalesce(n, o)), verb,
      audit_values(o, cols), audit_values(n, cols)
    )
    FROM unnest(coalesce(new_data, old_data)) a (item)
    LEFT JOIN unnest(old_data) o ON NOT EXISTS (SELECT FROM unnest(keys) k WHERE o ->> k IS DISTINCT FROM item ->> k)
    CROSS JOIN LATERAL (SELECT CASE WHEN new_data IS NULL THEN NULL ELSE item END AS n) later
    CROSS JOIN LATERAL (
      SELECT CASE WHEN TG_OP = 'UPDATE' THEN audit_changed(o, n, shown) ELSE shown END AS cols
    ) differing
    WHERE cols <> '{}';
    RETURN NULL;
  END
  $body$;

  CREATE FUNCTION erase_audited_contacts() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    UPDATE audit_log l
    SET before = NULL, after = NULL
    FROM removed r
    WHERE l.kind = 'contact' AND l.object = r.id::text;
    RETURN NULL;
  END
  $body$;
  -- After the trigger that records the deletion: triggers run in the order of their names.
  CREATE TRIGGER audit_erasure AFTER DELETE ON contacts REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION erase_audited_contacts();
`

const EVENTS = [
  ['INSERT', 'NEW TABLE AS added'],
  ['UPDATE', 'OLD TABLE AS removed NEW TABLE AS added'],
  ['DELETE', 'OLD TABLE AS removed'],
] as const

interface AuditedTable {
  readonly table: string
  readonly args: string
}

function parseTables(): AuditedTable[] {
  return AUDITED.replaceAll(/\n +/g, ' ')
    .trim()
    .split('\n')
    .map((line) => {
      const [table = '', rest = ''] = line.split(/: (.*)/)
      return {
        table,
        args: rest
          .split('; ')
          .map((part) => `'${part}'`)
          .join(', '),
      }
    })
}

function triggersOf({ table, args }: AuditedTable, events: readonly (typeof EVENTS)[number][] = EVENTS): string {
  return events
    .map(
      ([event, tables]) => sql`
        CREATE TRIGGER audit_${event.toLowerCase()} AFTER ${event} ON ${table} REFERENCING ${tables}
        FOR EACH STATEMENT WHEN (coalesce(current_setting('mailstead.actor', true), '') <> '')
        EXECUTE FUNCTION audit_changes(${args});
      `,
    )
    .join('\n')
}

export async function up(knex: Knex): Promise<void> {
  await knex.raw([TABLE, FUNCTIONS, TRIGGER_FUNCTION, ...parseTables().map((table) => triggersOf(table))].join('\n'))
  // the request; its progress is not a change of its own
  const actions = { table: 'operator_actions', args: `'operator_action', 'id', 'verb subject reason done_by'` }
  await knex.raw(triggersOf(actions, EVENTS.slice(0, 1)))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(sql`
    DROP FUNCTION audit_changes, erase_audited_contacts CASCADE;
    DROP FUNCTION audit_workspace, audit_changed, audit_values, record_audit;
    DROP TABLE audit_log
  `)
}
