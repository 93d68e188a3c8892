/** A cause of suppression that stops bulk mail only: the one-click link of mail sent to `/send-email/bulk`. */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const kinds = (list: readonly string[]): string => sql`
  ALTER TABLE suppressions
    DROP CONSTRAINT suppressions_kind,
    ADD CONSTRAINT suppressions_kind CHECK (kind IN (${list.map((kind) => `'${kind}'`).join(', ')})) NOT VALID;
  ALTER TABLE suppressions VALIDATE CONSTRAINT suppressions_kind;
`

const BEFORE = ['manual', 'import', 'hard_bounce', 'complaint', 'unsubscribe']

export async function up(knex: Knex): Promise<void> {
  await knex.raw(kinds([...BEFORE, 'unsubscribe_bulk']))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DELETE FROM suppressions WHERE kind = 'unsubscribe_bulk'`)
  await knex.raw(kinds(BEFORE))
}
