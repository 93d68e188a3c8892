/** The text part that a campaign's author wrote beside its HTML. */
import type { Knex } from 'knex'

const UP = `
ALTER TABLE campaigns ADD COLUMN text_body text;        -- null: one is made of the HTML
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE campaigns DROP COLUMN text_body')
}
