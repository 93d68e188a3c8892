/**
 * The history of contacts (src/contacts/contact-history.ts): a row for each change of attributes, written by a
 * trigger, so that no writer can forget it; and an index of the events of a recipient that a history shows. Events of
 * sending are not in the index: messages are found by the index of recipients, and sending mail costs nothing more.
 */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const FIELDS = [
  'email',
  'first_name',
  'last_name',
  'company_name',
  'job_title',
  'phone_number',
  'linkedin',
  'timezone',
  'tags',
]

const changeOf = (name: string, before: string, after: string): string =>
  `jsonb_build_object('field', ${name}, 'from', ${before}, 'to', ${after})`

const rowOf = (name: string): string => `('${name}', to_jsonb(o.${name}), to_jsonb(n.${name}))`
const ATTRIBUTE = (row: string): string => `${row}.custom_attributes -> k.key`

const UP = sql`
  CREATE TABLE contact_changes (
    contact_id uuid NOT NULL REFERENCES contacts ON DELETE CASCADE,
    id uuid NOT NULL,                           -- UUIDv7
    workspace_id uuid NOT NULL,
    changes jsonb NOT NULL,                     -- [{field, from, to}]
    PRIMARY KEY (contact_id, id)
  );
  CREATE INDEX contact_changes_age ON contact_changes (id);
  CREATE FUNCTION note_contact_changes() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO contact_changes (contact_id, id, workspace_id, changes)
    SELECT n.id, new_enrolment_id(), n.workspace_id, c.changes
    FROM added n
    JOIN removed o ON o.id = n.id
    CROSS JOIN LATERAL (
      SELECT jsonb_agg(one) AS changes
      FROM (
        SELECT ${changeOf('f.name', 'f.before', 'f.after')} AS one
        FROM (
          VALUES ${FIELDS.map(rowOf).join(', ')}
        ) AS f (name, before, after)
        WHERE f.before IS DISTINCT FROM f.after
        UNION ALL
        SELECT ${changeOf("'custom_attributes.' || k.key", ATTRIBUTE('o'), ATTRIBUTE('n'))}
        FROM (
          SELECT jsonb_object_keys(o.custom_attributes) AS key
          UNION
          SELECT jsonb_object_keys(n.custom_attributes)
        ) k
        WHERE o.custom_attributes -> k.key IS DISTINCT FROM n.custom_attributes -> k.key
      ) AS found
    ) c
    WHERE c.changes IS NOT NULL
      AND (${FIELDS.map((name) => `n.${name}`).join(', ')}, n.custom_attributes)
        IS DISTINCT FROM (${FIELDS.map((name) => `o.${name}`).join(', ')}, o.custom_attributes);
    RETURN NULL;
  END
  $body$;
  CREATE TRIGGER note_changes AFTER UPDATE ON contacts REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION note_contact_changes();
`

export const steps: readonly MigrationStep[] = [
  brief(UP, 'create the table of changes of contacts'),
  buildIndex({
    table: 'events',
    name: 'events_recipient',
    on: sql`
      (workspace_id, (lower(recipient) COLLATE "C"), id)
      WHERE type IN ('email.opened', 'email.clicked', 'email.bounced', 'email.complained', 'email.unsubscribed',
        'contact.subscribed', 'contact.unsubscribed')`,
  }),
]

export const undo: readonly MigrationStep[] = [
  brief(
    sql`
      DROP INDEX events_recipient;
      DROP TRIGGER note_changes ON contacts;
      DROP FUNCTION note_contact_changes;
      DROP TABLE contact_changes`,
    'drop the changes of contacts',
  ),
]
