/**
 * Notifications for the API key cache. Processes cache API keys for a few seconds. Triggers send a notification on the
 * channel mailstead_keys when a change of a key, its domain or its workspace commits, one for each statement. Changes
 * of columns that authentication does not read (such as last_used_at) send none.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const WATCHED = {
  api_keys: 'UPDATE OF secret_hash, workspace_id, kind, scopes, domain_id, is_active, expires_at OR DELETE OR TRUNCATE',
  domains: 'UPDATE OF domain, verification_status OR DELETE',
  workspaces: 'UPDATE OF plan, reply_to OR DELETE',
}

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sql`
    CREATE FUNCTION announce_key_change() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      PERFORM pg_notify('mailstead_keys', TG_TABLE_NAME);
      RETURN NULL;
    END $body$
  `)
  for (const [table, events] of Object.entries(WATCHED)) {
    await knex.raw(
      `CREATE TRIGGER key_change AFTER ${events} ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION announce_key_change()`,
    )
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const table of Object.keys(WATCHED)) await knex.raw(`DROP TRIGGER key_change ON ${table}`)
  await knex.raw('DROP FUNCTION announce_key_change()')
}
