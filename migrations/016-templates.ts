/**
 * All versions of templates. Each has the source of the author (`body`, `text_body`) and the compiled form with
 * partials inserted, MJML compiled and CSS inlined; null if both are the same. An existing template becomes its first
 * version.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

/** Columns of `templates` (the latest version) and of `template_versions` (every version). */
const CONTENT: readonly (readonly [column: string, type: string])[] = [
  // null: saved before the format was stored
  ['format', `text CONSTRAINT templates_format CHECK (format IN ('html', 'text', 'mjml'))`],
  // the text part as written; null: none
  ['text_body', 'text'],
  // the compiled body and text_body; null: the same as the source
  ['finished', 'text'],
  ['finished_text', 'text'],
  // params for previews; they declare the variables of the template
  ['sample_data', 'jsonb'],
  // {name: version} of the inserted partials
  ['partials', `jsonb NOT NULL DEFAULT '{}'`],
]

const TABLES = sql`
  ALTER TABLE templates ${CONTENT.map((column) => `ADD COLUMN ${column.join(' ')}`).join(', ')};
  CREATE TABLE template_versions (
    template_id uuid NOT NULL REFERENCES templates ON DELETE CASCADE,
    version integer NOT NULL,
    workspace_id uuid NOT NULL,
    name text NOT NULL,
    subject text NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    ${CONTENT.map((column) => column.join(' ')).join(',\n  ')},
    PRIMARY KEY (template_id, version)
  );
  INSERT INTO template_versions (template_id, version, workspace_id, name, subject, body, created_at)
  SELECT id, version, workspace_id, name, subject, body, updated_at
  FROM templates;
  -- Partials that the workspace's templates share; inserted when a template is saved.
  CREATE TABLE template_partials (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    body text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, name)
  );
  -- {id, version} of the template; is_test: a test message
  ALTER TABLE messages ADD COLUMN template jsonb;
  CREATE INDEX templates_partials ON templates (workspace_id) WHERE partials <> '{}';
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE template_versions, template_partials')
  await knex.raw('ALTER TABLE messages DROP COLUMN template')
  await knex.raw(`ALTER TABLE templates ${CONTENT.map(([column]) => `DROP COLUMN ${column}`).join(', ')}`)
}
