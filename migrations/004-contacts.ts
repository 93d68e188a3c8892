/**
 * Audiences, contacts and who belongs where.
 *
 * A membership carries the keys that lists are sorted by (email, names, score), so that a page of an audience is one walk along one index,
 * and each sort order has its index. Every change of memberships, whoever makes it, is noted in membership_changes by statement triggers;
 * counts and page marks (audience_marks) are folded from these notes in batches, so that adding a contact never waits for a counter that
 * others hold. What is not folded yet is added by the reader: a count is exact at any moment.
 * A statement that touches very many rows notes the sums alone (email null): counts stay exact, the marks are made anew.
 */
import type { Knex } from 'knex'

const TABLES = `
CREATE TABLE audiences (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  name text NOT NULL,
  description text,
  subscribe_token text NOT NULL UNIQUE,       -- in the address of the public form
  is_double_opt_in boolean NOT NULL DEFAULT false,
  contact_count bigint NOT NULL DEFAULT 0,    -- folded; membership_changes has the rest
  subscribed_count bigint NOT NULL DEFAULT 0,
  is_marked boolean NOT NULL DEFAULT false,   -- audience_marks are there and, with membership_changes, exact
  deleted_at timestamptz,                     -- gone for everybody; its rows are cleared in slices
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX audiences_workspace ON audiences (workspace_id, created_at, id);
CREATE TABLE contacts (
  id uuid PRIMARY KEY,                        -- UUIDv7: its order is the order of creation
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
  custom_attributes jsonb NOT NULL DEFAULT '{}',
  custom_headers jsonb,
  score real,                                 -- 0 to 1; null until it is computed
  verified_at timestamptz,                    -- when the score was computed
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (workspace_id, email)
);
CREATE INDEX contacts_unscored ON contacts (id) WHERE verified_at IS NULL;
CREATE TABLE memberships (
  audience_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  is_subscribed boolean NOT NULL DEFAULT true,
  email text COLLATE "C" NOT NULL,
  first_key text COLLATE "C" NOT NULL DEFAULT '', -- lower(left(first_name, 64)), '' for none
  last_key text COLLATE "C" NOT NULL DEFAULT '',
  score real NOT NULL DEFAULT 0,              -- 0 while it is not computed
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (audience_id, contact_id)
);
CREATE INDEX memberships_contact ON memberships (contact_id);
CREATE INDEX memberships_email ON memberships (audience_id, email, contact_id);
CREATE INDEX memberships_first ON memberships (audience_id, first_key, contact_id);
CREATE INDEX memberships_last ON memberships (audience_id, last_key, contact_id);
CREATE INDEX memberships_score ON memberships (audience_id, score, contact_id);
CREATE TABLE membership_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  audience_id uuid NOT NULL,
  contact_id uuid,
  email text COLLATE "C",                     -- null: sums of a large statement
  first_key text COLLATE "C",
  last_key text COLLATE "C",
  score real,
  total bigint NOT NULL,
  subscribed bigint NOT NULL
);
CREATE INDEX membership_changes_audience ON membership_changes (audience_id);
-- Where every thousandth member stands in each order, and how many stand from it to the next.
CREATE TABLE audience_marks (
  audience_id uuid NOT NULL,
  sort text NOT NULL,                         -- createdAt, email, firstName, lastName, deliverabilityScore
  key text COLLATE "C" NOT NULL,              -- '' in the order of creation; the score in a form that sorts as text
  contact_id uuid NOT NULL,
  total integer NOT NULL,
  subscribed integer NOT NULL,
  PRIMARY KEY (audience_id, sort, key, contact_id)
) WITH (fillfactor = 70);
`

/** Rows of one statement that are noted one by one. */
const NOTED_SINGLY = 500

const noteFunction = (name: string, source: string, rows: string): string => `
CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF (SELECT count(*) FROM (SELECT 1 FROM ${source} LIMIT ${NOTED_SINGLY + 1}) few) > ${NOTED_SINGLY} THEN
    INSERT INTO membership_changes (audience_id, total, subscribed)
    SELECT audience_id, sum(total), sum(subscribed) FROM (${rows}) c GROUP BY audience_id ORDER BY audience_id;
  ELSE
    INSERT INTO membership_changes (audience_id, contact_id, email, first_key, last_key, score, total, subscribed)
    SELECT audience_id, contact_id, email, first_key, last_key, score, total, subscribed FROM (${rows}) c;
  END IF;
  RETURN NULL;
END $body$;`

const KEYS = 'audience_id, contact_id, email, first_key, last_key, score'
const ADDED = `SELECT ${KEYS}, 1 AS total, is_subscribed::int AS subscribed FROM added`
const REMOVED = `SELECT ${KEYS}, -1 AS total, -is_subscribed::int AS subscribed FROM removed`
// an update that moves nobody and changes no status notes nothing
const CHANGED = `
  SELECT * FROM (${ADDED} UNION ALL ${REMOVED}) both_sides
  WHERE (audience_id, contact_id) IN (
    SELECT a.audience_id, a.contact_id FROM added a JOIN removed r USING (audience_id, contact_id)
    WHERE (a.email, a.first_key, a.last_key, a.score, a.is_subscribed) IS DISTINCT FROM (r.email, r.first_key, r.last_key, r.score, r.is_subscribed))`

const TRIGGERS = `
${noteFunction('note_added_members', 'added', ADDED)}
${noteFunction('note_removed_members', 'removed', REMOVED)}
${noteFunction('note_changed_members', 'added', CHANGED)}
CREATE TRIGGER note_added AFTER INSERT ON memberships REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_added_members();
CREATE TRIGGER note_removed AFTER DELETE ON memberships REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removed_members();
CREATE TRIGGER note_changed AFTER UPDATE ON memberships REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_changed_members();
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES + TRIGGERS)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE memberships, membership_changes, audience_marks, contacts, audiences CASCADE')
  await knex.raw('DROP FUNCTION note_added_members, note_removed_members, note_changed_members')
}
