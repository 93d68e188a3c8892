/**
 * For the time after the death of a process: the journal in which an outbound process notes accepted messages
 * (mta/delivery/result-journal.ts), in its lease; and an index in the order in which the schedule is filled
 * (src/messages/open-recipients.ts), since a campaign has very many recipients with the same due time.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE leases ADD COLUMN journal text;  -- name of the file; null: there is none, or it was read
  DROP INDEX recipients_open;
  CREATE INDEX recipients_open ON recipients (tier, due_at, message_id, n) WHERE is_open;
`

const DOWN = sql`
  ALTER TABLE leases DROP COLUMN journal;
  DROP INDEX recipients_open;
  CREATE INDEX recipients_open ON recipients (tier, due_at) WHERE is_open;
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN)
}
