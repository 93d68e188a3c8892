/**
 * The last reply of each receiver to deferred and bounced mail, by class (src/statistics/receiver-replies.ts): what the
 * deliverability desk shows as evidence. It is a sample, not a log; rows are deleted after a week.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

// no foreign keys, as in 068-statistics.ts: src/statistics/roll-up.ts deletes those of deleted workspaces
const TABLE = sql`
  CREATE TABLE receiver_replies (
    workspace_id uuid NOT NULL,                 -- all zeros: the whole installation
    receiver text COLLATE "C" NOT NULL,         -- src/suppression/receiver.ts
    class text COLLATE "C" NOT NULL,            -- of the bounce or deferral
    source text,                                -- the source of the last reply
    reply text NOT NULL,                        -- without addresses of people
    since timestamptz NOT NULL,                 -- the first of replies without a long gap
    last_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, receiver, class)
  );
  CREATE INDEX receiver_replies_age ON receiver_replies (last_at);
`

export const steps: readonly MigrationStep[] = [brief(TABLE, 'create the table of the last replies of receivers')]

export const undo: readonly MigrationStep[] = [
  brief('DROP TABLE receiver_replies', 'drop the table of the last replies of receivers'),
]
