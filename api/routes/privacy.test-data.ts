/** What is stored about a person elsewhere than in messages and contacts, and a search of all tables. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { TestApi } from '#test/support/api.ts'
import { newId } from '#src/platform/id.ts'
import { until } from '#test/support/until.ts'

/** The ledger of a campaign to a contact that was deleted, and mail that a restored database lacks. */
export async function fillWithoutContact(
  { db, workspaceId, domain }: TestApi,
  [one, other]: readonly [string, string],
): Promise<void> {
  await db.query(
    sql`
      WITH campaign AS (
        INSERT INTO campaigns (id, workspace_id, name)
        VALUES (gen_random_uuid(), $1, 'A')
        RETURNING id
      )
      INSERT INTO campaign_recipients (campaign_id, contact_id, workspace_id, email)
      SELECT id, gen_random_uuid(), $1, lower($2)
      FROM campaign
    `,
    [workspaceId, other],
  )
  await db.query(
    sql`
      INSERT INTO lost_mail (message_id, recipient, sender, source, at)
      VALUES (gen_random_uuid(), $1, $3, 'log', now()), (gen_random_uuid(), $2, NULL, 'log', now())
    `,
    [one, other, `a@${domain}`],
  )
}

/** The request of a webhook step, whose contact was deleted. */
export async function storeCall({ db, workspaceId }: TestApi, email: string): Promise<void> {
  await db.query(
    sql`
      WITH automation AS (
        INSERT INTO automations (id, workspace_id, name, status, trigger_type, trigger_config, version)
        VALUES (gen_random_uuid(), $1, 'A', 'active', 'manual', '{}', 1)
        RETURNING id
      )
      INSERT INTO automation_calls (id, workspace_id, automation_id, enrolment_id, step, lane, url, body, due_at,
        created_at)
      SELECT gen_random_uuid(), $1, id, gen_random_uuid(), 'a', '', 'https://hooks.example/x', $2, now(), now()
      FROM automation
    `,
    [workspaceId, JSON.stringify({ type: 'automation.webhook', contact: { id: 'c', email } })],
  )
}

/** A bounce of a message that is not stored any more. */
export async function storeBounce({ db }: TestApi, email: string): Promise<void> {
  await db.query(
    sql`
      INSERT INTO inbound_reports (id, received_at, target, message_id, n, mail_from, peer, size, raw, result)
      VALUES ($1, now(), 'return-path', $2, 0, $3, '192.0.2.1', 0, '', 'kept')
    `,
    [newId(), newId(), email],
  )
}

/** A review that has removed the address from the suppression list. */
export async function storeReview({ db, workspaceId }: TestApi, address: string): Promise<void> {
  const entry = { workspaceId, address, rule: 'no-such-user@0', reply: '550 5.7.1 no', reading: 'policy' }
  await db.query(
    'INSERT INTO suppression_reviews (id, is_lifting, found, entries, ended_at) VALUES ($1, true, 1, $2, now())',
    [newId(), JSON.stringify([entry])],
  )
}

/** Tables with a row that matches a pattern. */
export async function findTracesOf(db: Queryable, pattern: string): Promise<string[]> {
  const { rows: tables } = await db.query<{ name: string }>(sql`
    SELECT relname::text AS name
    FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
    ORDER BY relname COLLATE "C"`)
  const found: string[] = []
  for (const { name } of tables) {
    const { rows } = await db.query(`SELECT FROM ${name} t WHERE t::text ~* $1 LIMIT 1`, [pattern])
    if (rows.length > 0) found.push(name)
  }
  return found
}

/** Waits until a session waits for the lock of another. */
export async function waitForLock(db: Queryable): Promise<void> {
  await until(async () => {
    const { rows } = await db.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
    return rows.length > 0
  })
}
