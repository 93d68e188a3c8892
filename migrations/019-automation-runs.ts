/**
 * Running automations: the event an enrolment waits for, the messages and calls it made, and the counts of each step.
 *
 * An enrolment finishes the version it started with, unless the automation moves enrolments of older versions
 * (`moves_below`). They move when they are next due, so a change writes one row, however many enrolments there are. A
 * contact that joins an audience repeatedly (automations that add and remove each other's contacts) starts the same
 * automation a limited number of times an hour. Triggers record the enrolments waiting at each step as counter deltas,
 * which the worker applies in batches.
 */
import { brief, buildIndex, type MigrationStep, unlocked } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const COLUMNS = sql`
  ALTER TABLE automations
    -- Enrolments in an older version than this continue in the current one.
    ADD COLUMN moves_below integer NOT NULL DEFAULT 0,
    ADD COLUMN enrolled_to uuid,                -- of date_time with an audience: the last member enrolled
    ADD COLUMN is_enrolled boolean NOT NULL DEFAULT false; -- all members are enrolled
  ALTER TABLE enrolments
    ADD COLUMN waits_for text COLLATE "C",      -- an event that ends its wait before due_at
    ADD COLUMN heard jsonb,                     -- src/automations/wait-events.ts
    ADD COLUMN troubles smallint NOT NULL DEFAULT 0; -- consecutive errors
  CREATE INDEX automations_active ON automations (id) WHERE status = 'active';
`

const TABLES = sql`
  -- The contents of a mail step: one row for each version of its template that it has sent.
  CREATE TABLE automation_contents (
    automation_id uuid NOT NULL REFERENCES automations ON DELETE CASCADE,
    version integer NOT NULL,
    step text NOT NULL,
    template_version integer NOT NULL,          -- 0: the step's own subject and body
    content_id uuid NOT NULL,
    PRIMARY KEY (automation_id, version, step, template_version)
  );
  CREATE TABLE automation_mails (
    enrolment_id uuid NOT NULL,
    message_id uuid NOT NULL,                   -- UUIDv7: sorts by time
    workspace_id uuid NOT NULL,
    automation_id uuid NOT NULL,
    step text NOT NULL,
    PRIMARY KEY (enrolment_id, message_id)
  );
  -- Calls of webhook steps, until they are delivered or fail.
  CREATE TABLE automation_calls (
    id uuid PRIMARY KEY,                        -- UUIDv7
    workspace_id uuid NOT NULL,
    automation_id uuid NOT NULL,
    enrolment_id uuid NOT NULL,
    step text NOT NULL,
    lane text COLLATE "C" NOT NULL,             -- the workspace and the host: src/automations/webhook-calls.ts
    url text NOT NULL,
    body text NOT NULL,
    state text NOT NULL DEFAULT 'pending'
      CONSTRAINT automation_calls_state CHECK (state IN ('pending', 'delivered', 'failed')),
    tries smallint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    answer text,                                -- of the last try, as text
    created_at timestamptz NOT NULL
  ) WITH (fillfactor = 80);
  CREATE INDEX automation_calls_due ON automation_calls (lane, due_at, id) WHERE state = 'pending';
  CREATE INDEX automation_calls_automation ON automation_calls (automation_id, id);
  CREATE TABLE automation_steps (
    automation_id uuid NOT NULL REFERENCES automations ON DELETE CASCADE,
    step text NOT NULL,
    passed bigint NOT NULL DEFAULT 0,
    waiting bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (automation_id, step)
  ) WITH (fillfactor = 50);
  CREATE TABLE automation_step_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    automation_id uuid NOT NULL,
    step text NOT NULL,
    passed bigint NOT NULL,
    waiting bigint NOT NULL
  ) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1
  );
  CREATE INDEX automation_step_changes_automation ON automation_step_changes (automation_id)
    INCLUDE (step, passed, waiting);
`

const noteFunction = (name: string, rows: string): string => sql`
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO automation_step_changes (automation_id, step, passed, waiting)
    SELECT automation_id, step, 0, sum(side)
    FROM (${rows}) c
    GROUP BY automation_id, step
    HAVING sum(side) <> 0;
    RETURN NULL;
  END $body$;
`
const AT = (side: number, table: string): string =>
  `SELECT automation_id, step, ${side} AS side FROM ${table} WHERE state = 'active' AND step IS NOT NULL`

const NOTES = sql`
  ${noteFunction('note_steps_begun', AT(1, 'added'))}
  ${noteFunction('note_steps_moved', `${AT(1, 'added')} UNION ALL ${AT(-1, 'removed')}`)}
  ${noteFunction('note_steps_gone', AT(-1, 'removed'))}
  CREATE TRIGGER note_steps_begun AFTER INSERT ON enrolments REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_steps_begun();
  CREATE TRIGGER note_steps_moved AFTER UPDATE ON enrolments REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_steps_moved();
  CREATE TRIGGER note_steps_gone AFTER DELETE ON enrolments REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION note_steps_gone();
`

/**
 * The enrolments from before the triggers. One snapshot has the enrolments and what the triggers have recorded since,
 * so their difference is what the triggers have not seen.
 */
const WAITING_BEFORE = sql`
  INSERT INTO automation_step_changes (automation_id, step, passed, waiting)
  SELECT automation_id, step, 0, sum(waiting)
  FROM (
    SELECT automation_id, step, count(*) AS waiting
    FROM enrolments
    WHERE state = 'active' AND step IS NOT NULL
    GROUP BY automation_id, step
    UNION ALL
    SELECT automation_id, step, -waiting
    FROM automation_step_changes
    UNION ALL
    SELECT automation_id, step, -waiting
    FROM automation_steps
  ) c
  GROUP BY automation_id, step
  HAVING sum(waiting) <> 0
`

/** The maximum number of times per hour that one contact starts the same automation by joining. */
const MOST_AN_HOUR = 20
const WAITING = sql`
  a.workspace_id = j.workspace_id
  AND a.trigger_type = 'contact_added_to_audience'
  AND a.trigger_key = j.audience_id::text
  AND a.status = 'active'
`
const JOINED = '(SELECT DISTINCT workspace_id, audience_id FROM added WHERE is_subscribed) j'
const BY_INDEX = 'SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off'
const enrolJoined = (bound: string): string => sql`
  CREATE OR REPLACE FUNCTION enrol_joined() RETURNS trigger LANGUAGE plpgsql ${BY_INDEX} AS $body$
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
      ${bound}
      ORDER BY a.id, m.contact_id
      FOR KEY SHARE OF c
      ON CONFLICT (automation_id, contact_id) WHERE state = 'active' DO NOTHING;
    END IF;
    RETURN NULL;
  END $body$;
`
const BOUND = sql`
  WHERE (
    SELECT count(*)
    FROM enrolments e
    WHERE e.contact_id = m.contact_id AND e.automation_id = a.id AND e.created_at > now() - interval '1 hour'
  ) < ${MOST_AN_HOUR}
`

/** Deleting a contact deletes the mail records of its enrolments. */
const dropEnrolments = (statement: string): string => sql`
  CREATE OR REPLACE FUNCTION drop_enrolments() RETURNS trigger LANGUAGE plpgsql ${BY_INDEX} AS $body$
  BEGIN
    ${statement};
    RETURN NULL;
  END $body$;
`
const DROP = sql`
  DELETE FROM enrolments e
  USING removed r
  WHERE e.contact_id = r.id
`
const DROP_WITH_MAILS = sql`
  WITH gone AS (
    ${DROP}
    RETURNING e.id
  )
  DELETE FROM automation_mails k
  USING gone g
  WHERE k.enrolment_id = g.id
`

export const steps: readonly MigrationStep[] = [
  brief([COLUMNS, TABLES, NOTES, enrolJoined(BOUND), dropEnrolments(DROP_WITH_MAILS)].join('\n')),
  unlocked(WAITING_BEFORE, 'count the enrolments at each step'),
  buildIndex({ table: 'enrolments', name: 'enrolments_present', on: `(contact_id) WHERE state = 'active'` }),
  buildIndex({ table: 'enrolments', name: 'enrolments_ended', on: `(ended_at) WHERE state <> 'active'` }),
]

export const undo: readonly MigrationStep[] = [
  brief(sql`
    ${enrolJoined('')}
    ${dropEnrolments(DROP)}
    DROP TRIGGER note_steps_begun ON enrolments;
    DROP TRIGGER note_steps_moved ON enrolments;
    DROP TRIGGER note_steps_gone ON enrolments;
    DROP FUNCTION note_steps_begun, note_steps_moved, note_steps_gone;
    DROP TABLE automation_contents, automation_mails, automation_calls, automation_steps, automation_step_changes;
    DROP INDEX enrolments_ended, enrolments_present, automations_active;
    ALTER TABLE enrolments DROP COLUMN waits_for, DROP COLUMN heard, DROP COLUMN troubles;
    ALTER TABLE automations DROP COLUMN moves_below, DROP COLUMN enrolled_to, DROP COLUMN is_enrolled
  `),
]
