/**
 * Messages that came by SMTP: kept as the octets that go out, and who handed them in. EXTERNAL: never compressed, since most of a large
 * mail is base64; a mail of a few KB stays in its row.
 */
import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE messages ADD COLUMN raw bytea, ADD COLUMN submitted jsonb;
    ALTER TABLE messages ALTER COLUMN raw SET STORAGE EXTERNAL;
    COMMENT ON COLUMN messages.raw IS 'the whole message as it goes out, without its signatures';
    COMMENT ON COLUMN messages.submitted IS 'the envelope that it came in';
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE messages DROP COLUMN raw, DROP COLUMN submitted')
}
