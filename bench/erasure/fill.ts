/**
 * Fills a database for the benchmark of erasure and export: old mail of one workspace, and beside it what has no index
 * of addresses: recipients of campaigns, entries of the audit log, requests of automations, and reports.
 */
import type { Client } from 'pg'
import { fillHistory } from '#bench/partitions/fill.ts'
import { sql } from '#src/stores/sql.ts'

/** Weekly partitions: mail is in 30 of them. */
const WEEKS = 35
const LEDGERS = 10

/** `$1` workspace, `$2` rows. Address i is that of the mail to it. */
const TABLES: Readonly<Record<string, string>> = {
  contacts: sql`
    INSERT INTO contacts (id, workspace_id, email, first_name)
    SELECT gen_random_uuid(), $1, 'r' || i || '@d' || i % 200 || '.example', 'Anna'
    FROM generate_series(0, least($2::int, 50000) - 1) i
  `,
  campaign_recipients: sql`
    WITH campaign AS (
      INSERT INTO campaigns (id, workspace_id, name, status)
      SELECT gen_random_uuid(), $1, 'Campaign ' || k, 'SENT'
      FROM generate_series(1, ${LEDGERS}) k
      RETURNING id
    )
    INSERT INTO campaign_recipients (campaign_id, contact_id, workspace_id, email)
    SELECT campaign.id, gen_random_uuid(), $1, 'r' || i % 50000 || '@d' || i % 200 || '.example'
    FROM campaign, generate_series(1, $2::int / ${LEDGERS}) i
  `,
  audit_log: sql`
    INSERT INTO audit_log (id, workspace_id, actor_kind, actor, action, kind, object, change, after)
    SELECT gen_random_uuid(), $1, 'key', 'k', 'add-suppressions', 'suppression',
      'r' || i % 50000 || '@d' || i % 200 || '.example', 'create', '{"kind": "manual"}'
    FROM generate_series(1, $2::int / 10) i
  `,
  automation_calls: sql`
    WITH automation AS (
      INSERT INTO automations (id, workspace_id, name, status, trigger_type, trigger_config, version)
      VALUES (gen_random_uuid(), $1, 'A', 'active', 'manual', '{}', 1)
      RETURNING id
    )
    INSERT INTO automation_calls (id, workspace_id, automation_id, enrolment_id, step, lane, url, body, state, due_at,
      created_at)
    SELECT gen_random_uuid(), $1, id, gen_random_uuid(), 'a', '', 'https://hooks.example/x',
      jsonb_build_object('contact', jsonb_build_object('email', 'r' || i % 50000 || '@d' || i % 200 || '.example'),
        'text', repeat('x', 500))::text, 'delivered', now(), now()
    FROM automation, generate_series(1, $2::int / 20) i
  `,
  inbound_reports: sql`
    INSERT INTO inbound_reports (id, received_at, target, message_id, n, mail_from, peer, size, raw, result)
    SELECT gen_random_uuid(), now(), 'return-path', message_id, n, '', '192.0.2.1', 2000,
      convert_to(repeat('Final-Recipient: rfc822;' || address || E'\r\n', 50), 'UTF8'), 'bounced'
    FROM recipients
    WHERE workspace_id = $1
    LIMIT $2::int / 50
  `,
  tester: sql`
    UPDATE recipients
    SET address = ('{Zelda.Quux,zeldaquux,zelda.quux+shop}'::text[])[1 + attempts % 3]
      || '@gmail.com', domain = 'gmail.com'
    WHERE workspace_id = $1 AND address LIKE 'r1%@d17.example'
  `,
}

/** Returns the rows by table. */
export async function fillWorkspace(
  client: Client,
  workspaceId: string,
  messages: number,
  say: (line: string) => void,
): Promise<Record<string, number>> {
  const filled = { messages: await fillHistory(client, { weeks: WEEKS, messages, workspaceId }, say) }
  const rows: Record<string, number> = {}
  for (const [table, statement] of Object.entries(TABLES)) {
    const values = statement.includes('$2') ? [workspaceId, messages] : [workspaceId]
    rows[table] = (await client.query(statement, values)).rowCount ?? 0
    say(`  ${rows[table]} ${table}`)
  }
  await client.query('VACUUM ANALYZE')
  return { ...filled, ...rows }
}
