/**
 * Audiences, contacts and memberships.
 *
 * A membership has copies of the contact's sort keys (email, names, score), so that a page of an audience is one index
 * scan; each sort order has its index. A trigger copies changes of a contact to its memberships.
 *
 * Statement triggers record every change of memberships as counter deltas in membership_changes. The worker applies the
 * deltas to counts and pagination marks (audience_marks) in batches, so that adding a contact never waits for a locked
 * counter. Readers add the deltas that are not applied yet, so counts are always exact. A statement with very many
 * rows, or a transaction with mailstead.notes = sums, records only the sums (email null): counts stay exact, and the
 * marks are rebuilt.
 *
 * The triggers group rows instead of joining old and new rows: their plans are cached, and a join that was planned for
 * one row takes quadratic time for thousands.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

/** Below this number of members, reading from the nearer end is as fast as using a mark. */
const WORTH_MARKS = 5000

const KEY_FUNCTIONS = sql`
  CREATE FUNCTION name_key(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $body$ SELECT lower(left(coalesce(name, ''), 64)) $body$;
  -- The bits of a non-negative float sort as the number does.
  CREATE FUNCTION score_key(score real) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $body$ SELECT encode(float4send((score + 0)::real), 'hex') $body$;
`

const TABLES = sql`
  CREATE TABLE audiences (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    description text,
    subscribe_token text NOT NULL UNIQUE,       -- in the URL of the public form
    is_double_opt_in boolean NOT NULL DEFAULT false,
    contact_count bigint NOT NULL DEFAULT 0,    -- as of the last fold; membership_changes has the rest
    subscribed_count bigint NOT NULL DEFAULT 0,
    is_marked boolean NOT NULL DEFAULT false,   -- audience_marks exist and, with membership_changes, are exact
    deleted_at timestamptz,                     -- deleted; its rows are deleted in slices
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  ) WITH (fillfactor = 70);
  CREATE INDEX audiences_workspace ON audiences (workspace_id, created_at, id);
  CREATE INDEX audiences_deleted ON audiences (workspace_id) WHERE deleted_at IS NOT NULL;
  CREATE INDEX audiences_unmarked ON audiences (id)
    WHERE deleted_at IS NULL AND NOT is_marked AND contact_count >= ${WORTH_MARKS};
  CREATE TABLE contacts (
    id uuid PRIMARY KEY,                        -- UUIDv7: sorts by time of creation
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    email text COLLATE "C" NOT NULL,            -- lower case
    first_name text,
    last_name text,
    company_name text,
    job_title text,
    phone_number text,
    linkedin text,
    timezone text,
    tags text[] NOT NULL DEFAULT '{}',
    -- A save merges attributes, so a limit on one save does not limit the total.
    custom_attributes jsonb NOT NULL DEFAULT '{}'
      CONSTRAINT contacts_attributes_size CHECK (pg_column_size(custom_attributes) <= 65536),
    custom_headers jsonb,
    score real CONSTRAINT contacts_score_range CHECK (score BETWEEN 0 AND 1), -- null until it is computed
    verified_at timestamptz,                    -- when the score was computed
    -- One bit for each field of the last save: ON CONFLICT reads them and leaves the other fields as they are.
    given integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT contacts_email_key UNIQUE (workspace_id, email)
  );
  CREATE INDEX contacts_unscored ON contacts (id) WHERE verified_at IS NULL;
  CREATE TABLE memberships (
    audience_id uuid NOT NULL,
    contact_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    is_subscribed boolean NOT NULL DEFAULT true,
    email text COLLATE "C" NOT NULL,
    first_key text COLLATE "C" NOT NULL DEFAULT '', -- name_key() of the contact's names
    last_key text COLLATE "C" NOT NULL DEFAULT '',
    score real NOT NULL DEFAULT 0,              -- 0 until it is computed
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (audience_id, contact_id)
  );
  CREATE INDEX memberships_contact ON memberships (contact_id);
  -- The status comes before the sort key: subscribed members are one range, however few they are; all members are two
  -- ranges, which are merged.
  CREATE INDEX memberships_created ON memberships (audience_id, is_subscribed, contact_id);
  CREATE INDEX memberships_email ON memberships (audience_id, is_subscribed, email, contact_id);
  CREATE INDEX memberships_first ON memberships (audience_id, is_subscribed, first_key, contact_id);
  CREATE INDEX memberships_last ON memberships (audience_id, is_subscribed, last_key, contact_id);
  CREATE INDEX memberships_score ON memberships (audience_id, is_subscribed, score, contact_id);
  CREATE TABLE membership_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    audience_id uuid NOT NULL,
    contact_id uuid,
    email text COLLATE "C",                     -- null: the sums of a large statement
    first_key text COLLATE "C",
    last_key text COLLATE "C",
    score real,
    total bigint NOT NULL,
    subscribed bigint NOT NULL
  ) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1
  );
  CREATE INDEX membership_changes_audience ON membership_changes (audience_id);
  -- The position of every thousandth member in each sort order, and the number of members up to the next mark.
  CREATE TABLE audience_marks (
    audience_id uuid NOT NULL,
    sort text NOT NULL,                         -- createdAt, email, firstName, lastName, deliverabilityScore
    key text COLLATE "C" NOT NULL,              -- '' for createdAt; the score as score_key()
    contact_id uuid NOT NULL,
    total integer NOT NULL,
    subscribed integer NOT NULL,
    PRIMARY KEY (audience_id, sort, key, contact_id)
  ) WITH (fillfactor = 70);
`

/** Up to this number of rows, a statement records each row. */
const NOTED_SINGLY = 5000
const ALWAYS_BY_INDEX = 'SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off'

const noteFunction = (name: string, source: string, rows: string): string => sql`
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    IF current_setting('mailstead.notes', true) = 'sums'
      OR (SELECT count(*) FROM (SELECT 1 FROM ${source} LIMIT ${NOTED_SINGLY + 1}) few) > ${NOTED_SINGLY}
    THEN
      INSERT INTO membership_changes (audience_id, total, subscribed)
      SELECT audience_id, sum(total), sum(subscribed)
      FROM (
        ${rows}
      ) c
      GROUP BY audience_id;
    ELSE
      INSERT INTO membership_changes (audience_id, contact_id, email, first_key, last_key, score, total, subscribed)
      SELECT audience_id, contact_id, email, first_key, last_key, score, total, subscribed
      FROM (
        ${rows}
      ) c;
    END IF;
    RETURN NULL;
  END $body$;
`

const KEYS = 'audience_id, contact_id, email, first_key, last_key, score'
const ADDED = `SELECT ${KEYS}, 1 AS total, is_subscribed::int AS subscribed FROM added`
const REMOVED = `SELECT ${KEYS}, -1 AS total, -is_subscribed::int AS subscribed FROM removed`
// an update that changes neither a sort key nor a status records nothing
const CHANGED = sql`
  SELECT ${KEYS}, sum(total) AS total, sum(subscribed) AS subscribed
  FROM (
    ${ADDED}
    UNION ALL
    ${REMOVED}
  ) both_sides
  GROUP BY ${KEYS}
  HAVING sum(total) <> 0 OR sum(subscribed) <> 0
`

/** Copies changed sort keys of a contact to its memberships. */
const CARRY = sql`
  CREATE FUNCTION carry_contact_keys() RETURNS trigger LANGUAGE plpgsql ${ALWAYS_BY_INDEX} AS $body$
  BEGIN
    UPDATE memberships m
    SET email = c.email,
      first_key = name_key(c.first_name),
      last_key = name_key(c.last_name),
      score = coalesce(c.score, 0) + 0
    FROM (
      SELECT id, email, first_name, last_name, score
      FROM (
        SELECT id, email, first_name, last_name, score, 1 AS side
        FROM added
        UNION ALL
        SELECT id, email, first_name, last_name, score, -1
        FROM removed
      ) both_sides
      GROUP BY id, email, first_name, last_name, score
      HAVING sum(side) > 0
    ) c
    WHERE m.contact_id = c.id;
    RETURN NULL;
  END $body$;
`

const trigger = (name: string, on: string, tables: string, run: string): string =>
  `CREATE TRIGGER ${name} AFTER ${on} REFERENCING ${tables} FOR EACH STATEMENT EXECUTE FUNCTION ${run}();`

const TRIGGERS = [
  noteFunction('note_added_members', 'added', ADDED),
  noteFunction('note_removed_members', 'removed', REMOVED),
  noteFunction('note_changed_members', 'added', CHANGED),
  CARRY,
  trigger('note_added', 'INSERT ON memberships', 'NEW TABLE AS added', 'note_added_members'),
  trigger('note_removed', 'DELETE ON memberships', 'OLD TABLE AS removed', 'note_removed_members'),
  trigger('note_changed', 'UPDATE ON memberships', 'OLD TABLE AS removed NEW TABLE AS added', 'note_changed_members'),
  trigger('carry_keys', 'UPDATE ON contacts', 'OLD TABLE AS removed NEW TABLE AS added', 'carry_contact_keys'),
].join('\n')

export async function up(knex: Knex): Promise<void> {
  await knex.raw([KEY_FUNCTIONS, TABLES, TRIGGERS].join('\n'))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE memberships, membership_changes, audience_marks, contacts, audiences CASCADE')
  await knex.raw(sql`
    DROP FUNCTION note_added_members, note_removed_members, note_changed_members, carry_contact_keys, name_key,
      score_key
  `)
}
