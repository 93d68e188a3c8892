/** The branding of the public pages of a workspace (src/branding): colours, texts by language, and a logo. */
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const TABLE = sql`
  CREATE TABLE brandings (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
    accent_color text,                          -- #rrggbb; null: the default
    background_color text,
    text_color text,
    default_language text NOT NULL DEFAULT 'en',
    texts jsonb NOT NULL DEFAULT '{}',          -- by language and key (src/branding/texts.ts)
    logo bytea,
    logo_type text,                             -- the media type
    logo_digest text,                           -- in its URL, which therefore never changes its content
    logo_alt text,
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  ${auditTriggers(
    'brandings',
    `'branding', 'workspace_id', 'accent_color background_color text_color default_language logo_digest logo_alt'`,
  )}
`

export const steps: readonly MigrationStep[] = [brief(TABLE, 'create the table of brandings')]

export const undo: readonly MigrationStep[] = [brief('DROP TABLE brandings', 'drop the table of brandings')]
