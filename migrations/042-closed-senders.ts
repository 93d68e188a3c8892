/**
 * What ends when a sender is closed: a suspension may cover a whole workspace and not only its mail; removed sending
 * domains are remembered, so that links in their mail stop working; and the operator can block single links.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE suspensions
    -- all: also its keys, links, pages and hosted mail
    ADD scope text NOT NULL DEFAULT 'mail'
      CONSTRAINT suspensions_scope CHECK (scope = 'mail' OR (scope = 'all' AND kind = 'workspace'));
  -- Authentication reads whether the workspace is suspended.
  CREATE TRIGGER key_change AFTER INSERT OR UPDATE OR DELETE ON suspensions
    FOR EACH STATEMENT EXECUTE FUNCTION announce_key_change();

  -- Links name the domain by its id. If the workspace adds the domain again, it gets a new id, and they work again.
  CREATE TABLE removed_domains (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL,                 -- no foreign key: it outlives the workspace
    domain text NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE FUNCTION remember_removed_domains() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO removed_domains (id, workspace_id, domain)
    SELECT id, workspace_id, domain
    FROM removed
    WHERE verified_at IS NOT NULL
    ON CONFLICT (id) DO NOTHING;
    RETURN NULL;
  END $body$;
  CREATE TRIGGER removed_domains AFTER DELETE ON domains REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION remember_removed_domains();

  CREATE TABLE blocked_links (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time
    kind text NOT NULL CONSTRAINT blocked_links_kind CHECK (kind IN ('url', 'host', 'mail')),
    subject text NOT NULL,                      -- a target, a host of targets, or the id of a message
    reason text NOT NULL,
    blocked_by text NOT NULL,
    UNIQUE (kind, subject)
  );
`

/** The triggers of the audit log: `table: kind, key columns, shown columns`. */
const AUDITED = {
  suspensions: `'suspension', 'kind,subject', 'kind subject reason until scope'`,
  blocked_links: `'blocked_link', 'kind,subject', 'kind subject reason'`,
} as const
const SUSPENSIONS_BEFORE = `'suspension', 'kind,subject', 'kind subject reason until'`

const EVENTS = [
  ['insert', 'NEW TABLE AS added'],
  ['update', 'OLD TABLE AS removed NEW TABLE AS added'],
  ['delete', 'OLD TABLE AS removed'],
] as const

function auditTriggers(table: keyof typeof AUDITED, args: string): string {
  return EVENTS.map(
    ([event, tables]) => sql`
      DROP TRIGGER IF EXISTS audit_${event} ON ${table};
      CREATE TRIGGER audit_${event} AFTER ${event} ON ${table} REFERENCING ${tables}
      FOR EACH STATEMENT WHEN (coalesce(current_setting('mailstead.actor', true), '') <> '')
      EXECUTE FUNCTION audit_changes(${args});
    `,
  ).join('\n')
}

export async function up(knex: Knex): Promise<void> {
  const triggers = (['suspensions', 'blocked_links'] as const).map((table) => auditTriggers(table, AUDITED[table]))
  await knex.raw([UP, ...triggers].join('\n'))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(auditTriggers('suspensions', SUSPENSIONS_BEFORE))
  await knex.raw(sql`
    DROP TABLE blocked_links;
    DROP TRIGGER removed_domains ON domains;
    DROP FUNCTION remember_removed_domains;
    DROP TABLE removed_domains;
    DROP TRIGGER key_change ON suspensions;
    ALTER TABLE suspensions DROP scope
  `)
}
