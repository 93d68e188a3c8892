/**
 * How long plans and workspaces store their mail, where that differs from the settings, and how far the mail of each
 * workspace is deleted.
 */
import type { Knex } from 'knex'
import { auditTriggers } from '#src/stores/audit-triggers.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE retention_rules (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    plan text UNIQUE,                           -- either a plan, or one workspace
    workspace_id uuid UNIQUE REFERENCES workspaces ON DELETE CASCADE,
    bodies_days integer,                        -- null: that of the plan, or the setting
    events_days integer,
    messages_days integer,
    CONSTRAINT retention_rules_subject CHECK (num_nonnulls(plan, workspace_id) = 1)
  );
  CREATE TABLE retention_progress (
    workspace_id uuid NOT NULL,                 -- no foreign key: mail of a deleted workspace is still to be deleted
    data text NOT NULL,                         -- src/retention/deleted-data.ts
    done_until timestamptz NOT NULL DEFAULT 'epoch', -- older rows are deleted, but for mail that was still to be sent
    walk_from timestamptz NOT NULL DEFAULT 'epoch',  -- older rows are deleted
    position uuid,                              -- where the next slice of an unfinished walk begins
    open_from timestamptz,                      -- the oldest mail that the unfinished walk left, still to be sent
    gone_at timestamptz,                        -- when the workspace was deleted
    PRIMARY KEY (workspace_id, data)
  );
  CREATE INDEX retention_progress_gone ON retention_progress (gone_at) WHERE gone_at IS NOT NULL;
`

/** The triggers of the audit log. */
const AUDIT = auditTriggers(
  'retention_rules',
  `'retention_rule', 'id', 'plan workspace_id bodies_days events_days messages_days'`,
)

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP + AUDIT)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE retention_progress; DROP TABLE retention_rules')
}
