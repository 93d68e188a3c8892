/**
 * Automations with their enrolments, campaigns with their recipients.
 *
 * An enrolment is due when it is stored; workers claim those of active automations by the index enrolments_due. A
 * trigger on memberships enrols a contact that joins an audience, in the same transaction, for every way of joining; a
 * batch costs one statement. The contact is locked against deletion meanwhile, so no enrolment outlives its contact.
 * Each statement records one row of counter deltas per automation, which the worker applies in batches, so that
 * enrolling never waits for a counter.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const AUTOMATIONS = sql`
  CREATE TABLE automations (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    status text NOT NULL CONSTRAINT automations_status CHECK (status IN ('draft', 'active', 'paused', 'archived')),
    trigger_type text NOT NULL CONSTRAINT automations_trigger_type
      CHECK (trigger_type IN ('contact_event', 'contact_added_to_audience', 'date_time', 'manual')),
    trigger_config jsonb NOT NULL,
    -- The event name or audience id by which an event or a new member finds the automation.
    trigger_key text COLLATE "C",
    starts_at timestamptz,                      -- of date_time: no enrolment starts earlier
    version integer NOT NULL,                   -- new enrolments use this one
    enrolled_count bigint NOT NULL DEFAULT 0,   -- as of the last fold; enrolment_changes has the rest
    completed_count bigint NOT NULL DEFAULT 0,
    active_count bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  ) WITH (fillfactor = 70);
  CREATE INDEX automations_workspace ON automations (workspace_id, id);
  CREATE INDEX automations_trigger ON automations (workspace_id, trigger_type, trigger_key) WHERE status = 'active';
  -- Immutable: an enrolment ends with the version that it started with.
  CREATE TABLE automation_versions (
    automation_id uuid NOT NULL REFERENCES automations ON DELETE CASCADE,
    version integer NOT NULL,
    steps jsonb NOT NULL,                       -- src/automations/steps.ts
    first_step text,                            -- its id; null: no steps
    step_count integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (automation_id, version)
  );
  -- A UUIDv7 (RFC 9562 5.7) of the current time.
  CREATE FUNCTION new_enrolment_id() RETURNS uuid LANGUAGE sql VOLATILE AS $body$
    SELECT encode(
    set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
      PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
      FROM 1 FOR 6), 52, 1), 53, 1),
    'hex'
  )::uuid
  $body$;
  CREATE TABLE enrolments (
    -- No foreign key: every insert would lock the one row that all enrolments share.
    automation_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT new_enrolment_id(),
    workspace_id uuid NOT NULL,
    contact_id uuid NOT NULL,
    version integer NOT NULL,
    state text NOT NULL DEFAULT 'active' CONSTRAINT enrolments_state CHECK (state IN ('active', 'completed', 'exited')),
    step text,                                  -- id of the next step
    due_at timestamptz NOT NULL,                -- when that step is due
    properties jsonb,                           -- of the event that started it
    reason text,                                -- why it ended
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (automation_id, id)
  ) WITH (fillfactor = 80);
  CREATE UNIQUE INDEX enrolments_active ON enrolments (automation_id, contact_id) WHERE state = 'active';
  CREATE INDEX enrolments_due ON enrolments (automation_id, due_at) WHERE state = 'active';
  CREATE INDEX enrolments_contact ON enrolments (contact_id);
  CREATE TABLE enrolment_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    automation_id uuid NOT NULL,
    enrolled bigint NOT NULL,
    completed bigint NOT NULL,
    active bigint NOT NULL
  ) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1
  );
  CREATE INDEX enrolment_changes_automation ON enrolment_changes (automation_id) INCLUDE (enrolled, completed, active);
`

/** Records what a statement adds to the counts of each automation. Deleting a contact does not reduce past counts. */
const noteFunction = (name: string, rows: string): string => sql`
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO enrolment_changes (automation_id, enrolled, completed, active)
    SELECT automation_id, sum(enrolled), sum(completed), sum(active)
    FROM (
      ${rows}
    ) c
    GROUP BY automation_id
    HAVING sum(enrolled) <> 0 OR sum(completed) <> 0 OR sum(active) <> 0;
    RETURN NULL;
  END $body$;
`

const BEGUN = sql`
  SELECT automation_id, 1 AS enrolled, (state = 'completed')::int AS completed, (state = 'active')::int AS active
  FROM added
`
const MOVED = sql`
  SELECT automation_id, 0 AS enrolled, (state = 'completed')::int AS completed, (state = 'active')::int AS active
  FROM added
  UNION ALL
  SELECT automation_id, 0, -(state = 'completed')::int, -(state = 'active')::int
  FROM removed
`
const GONE = `SELECT automation_id, 0 AS enrolled, 0 AS completed, -(state = 'active')::int AS active FROM removed`

/** Settings for triggers: a transition table has no statistics, and the plan must also suit a batch of an import. */
const BY_INDEX = 'SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off'
/** SQL join to the automations of a member's audience; `j` is the alias of the member. */
const WAITING = sql`
  a.workspace_id = j.workspace_id
  AND a.trigger_type = 'contact_added_to_audience'
  AND a.trigger_key = j.audience_id::text
  AND a.status = 'active'
`
const JOINED = '(SELECT DISTINCT workspace_id, audience_id FROM added WHERE is_subscribed) j'

const TRIGGERS = sql`
  ${noteFunction('note_begun_enrolments', BEGUN)}
  ${noteFunction('note_moved_enrolments', MOVED)}
  ${noteFunction('note_gone_enrolments', GONE)}
  CREATE TRIGGER note_begun AFTER INSERT ON enrolments REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_begun_enrolments();
  CREATE TRIGGER note_moved AFTER UPDATE ON enrolments REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_moved_enrolments();
  CREATE TRIGGER note_gone AFTER DELETE ON enrolments REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION note_gone_enrolments();
  CREATE FUNCTION enrol_joined() RETURNS trigger LANGUAGE plpgsql ${BY_INDEX} AS $body$
  BEGIN
    IF EXISTS (
      SELECT 1
      FROM ${JOINED}
      WHERE EXISTS (SELECT 1 FROM automations a WHERE ${WAITING})
    ) THEN
      INSERT INTO enrolments (automation_id, version, workspace_id, contact_id, step, due_at, created_at)
      SELECT a.id, a.version, a.workspace_id, m.contact_id, v.first_step, now(), now()
      FROM ${JOINED}
      JOIN automations a ON ${WAITING}
      JOIN automation_versions v ON v.automation_id = a.id AND v.version = a.version
      JOIN added m ON m.audience_id = j.audience_id AND m.is_subscribed
      JOIN contacts c ON c.id = m.contact_id
      ORDER BY a.id, m.contact_id
      FOR KEY SHARE OF c
      ON CONFLICT (automation_id, contact_id) WHERE state = 'active' DO NOTHING;
    END IF;
    RETURN NULL;
  END $body$;
  CREATE TRIGGER enrol_joined AFTER INSERT ON memberships REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION enrol_joined();
  CREATE FUNCTION drop_enrolments() RETURNS trigger LANGUAGE plpgsql ${BY_INDEX} AS $body$
  BEGIN
    DELETE FROM enrolments e
    USING removed r
    WHERE e.contact_id = r.id;
    RETURN NULL;
  END $body$;
  CREATE TRIGGER drop_enrolments AFTER DELETE ON contacts REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION drop_enrolments();
`

const CAMPAIGNS = sql`
  CREATE TABLE campaigns (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'DRAFT' CONSTRAINT campaigns_status
      CHECK (status IN ('DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED', 'SENT', 'COMPLETED', 'FAILED', 'CANCELLED')),
    template_id uuid,
    subject text,
    body text,                                  -- instead of a template
    from_email text,
    from_name text,
    reply_to text,
    audience_ids uuid[] NOT NULL DEFAULT '{}',
    segment_id uuid,                            -- only members of these audiences that match the segment
    scheduled_at timestamptz,
    timezone text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT campaigns_scheduled CHECK (status <> 'SCHEDULED' OR scheduled_at IS NOT NULL)
  );
  CREATE INDEX campaigns_workspace ON campaigns (workspace_id, id);
  -- The ledger: the recipients of a campaign, written when it starts, and the outcome for each.
  CREATE TABLE campaign_recipients (
    campaign_id uuid NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    contact_id uuid NOT NULL,                   -- no foreign key: the row outlives the contact
    workspace_id uuid NOT NULL,
    email text COLLATE "C" NOT NULL,
    message_id uuid,                            -- null until it is dispatched
    dispatched_at timestamptz,
    delivered_at timestamptz,
    opened_at timestamptz,
    clicked_at timestamptz,
    bounced_at timestamptz,
    bounce_type text CONSTRAINT campaign_recipients_bounce_type CHECK (bounce_type IN ('hard', 'soft')),
    failed_at timestamptz,
    PRIMARY KEY (campaign_id, contact_id)
  );
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw([AUTOMATIONS, TRIGGERS, CAMPAIGNS].join('\n'))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    'DROP TABLE campaign_recipients, campaigns, enrolment_changes, enrolments, automation_versions, automations',
  )
  await knex.raw('DROP FUNCTION enrol_joined, drop_enrolments CASCADE')
  await knex.raw('DROP FUNCTION note_begun_enrolments, note_moved_enrolments, note_gone_enrolments, new_enrolment_id')
}
