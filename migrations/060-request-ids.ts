/**
 * With each message: the id of the request that accepted it, which is in the log lines of all roles about it, and the
 * parent of its spans while its trace is recorded. Both are null in messages of earlier versions.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE messages
    ADD request_id text,                        -- X-Request-Id, or the id of the SMTP transaction, campaign, automation
    ADD traceparent text;                       -- as in W3C Trace Context; null: its trace is not recorded
`

const DOWN = sql`
  ALTER TABLE messages DROP request_id, DROP traceparent;
`

export const steps: readonly MigrationStep[] = [brief(UP, 'add the request id of messages')]

export const undo: readonly MigrationStep[] = [brief(DOWN, 'remove the request id of messages')]
