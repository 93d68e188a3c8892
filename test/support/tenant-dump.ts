/** A digest of all rows of a workspace, by table, to see whether anything of it has changed. */
import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { TENANT_CHILDREN } from './tenant-children.ts'

const OF_PEOPLE = ['users', 'login_methods', 'user_sessions', 'password_resets', 'email_changes', 'pending_logins']
const OF_OPERATION = ['nodes', 'node_processes', 'dkim_zone_records', ...OF_PEOPLE]
/** Tables of the service itself, without a workspace. */
const isOfService = (table: string): boolean =>
  /^(?:acme|backups|certificate|lost_mail|migration)/.test(table) || OF_THE_SERVICE.has(table)
const OF_THE_SERVICE = new Set([
  'leases',
  ...OF_OPERATION,
  'restore_fence',
  'store_probe',
  'installation',
  'installation_mode',
  'live_checks',
  'open_mail',
  'body_storage',
  'partition_rewrites',
  'rewrite_notes',
  'suspensions',
  'receiver_hours',
  'operator_actions',
  'operator_notices',
  'blocked_links',
  'let_go',
  'domain_sites',
  'dry_runs',
  'suppression_reviews',
  'pending_logins',
  'statistics_cursors',
  'sandbox_inbox',
  'egress_sources',
  'egress_pools',
  'egress_members',
  'egress_days',
  'egress_checks',
  'report_cursor',
  'learned_limits',
  'sts_policies',
  'tls_rules',
  'tls_results',
  'tls_reports',
  'tls_report_arrivals',
  'dmarc_report_arrivals',
  'dmarc_source_names',
  'received_tls_reports',
  'queue_shares',
  'tracking_hits',
  'test_writes',
])

/** For each table, or each of `only`, a digest of the rows of the workspace. Fails for a table that nobody assigned. */
export async function dumpTenant(
  db: Db,
  workspaceId: string,
  only?: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const { rows: tables } = await db.query<{ name: string; isOwned: boolean }>(sql`
    SELECT c.relname AS name,
      EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'workspace_id') AS "isOwned"
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  `)
  const dumped: Record<string, string> = {}
  for (const { name, isOwned } of tables) {
    if (only?.includes(name) === false) continue
    const condition = TENANT_CHILDREN[name] ?? (isOwned ? 'workspace_id = $1' : null)
    if (condition === null) assert.ok(isOfService(name), `whose are the rows of ${name}?`)
    else dumped[name] = await textOfRows(db, { name, condition, workspaceId })
  }
  return dumped
}

interface TableRows {
  readonly name: string
  readonly condition: string
  readonly workspaceId: string
}

/** Without `last_used_at`: the use of a key is not a change. */
async function textOfRows(db: Db, { name, condition, workspaceId }: TableRows): Promise<string> {
  const {
    rows: [row],
  } = await db.query<{ text: string }>(
    sql`
      SELECT count(*) || ' rows ' || coalesce(md5(string_agg(t, '' ORDER BY t)), '') AS text
      FROM (SELECT (to_jsonb(x) - 'last_used_at')::text AS t FROM ${name} x WHERE ${condition}) rows
    `,
    [workspaceId],
  )
  return row?.text ?? ''
}
