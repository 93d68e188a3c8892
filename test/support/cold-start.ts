/**
 * The servers of test/faults/cold-start.test.ts, and queries: what a cold start must leave unchanged, what it must
 * finish, and how often each mail was sent.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { startMailboxServer, type MailboxServer } from './mailbox-server.ts'
import { uuidOf, type SettledMail } from './pending-work.ts'
import type { Receiver } from './receiver.ts'
import { ACCOUNT, PASSWORD, SHAPING, type ColdStartSetup, type HeldMessage } from './stored-messages.ts'
import { startTestbed } from './testbed.ts'
import { until } from './until.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'

/** Starts all servers. Adds to `undo` how they stop, and to `receivers` each receiver that is started later. */
export async function startColdStart(undo: (() => unknown)[], receivers: Set<Receiver>): Promise<ColdStartSetup> {
  const dir = mkdtempSync('/tmp/mailstead-cold-')
  undo.push(() => rmSync(dir, { recursive: true }))
  const mailbox = await startMailboxServer({ name: 'smtp.provider.example', methods: ['PLAIN'] })
  undo.push(() => mailbox.stop())
  mailbox.passwords.set(ACCOUNT, PASSWORD)
  writeFileSync(join(dir, 'ca.pem'), mailbox.ca)
  writeFileSync(join(dir, 'shaping.yaml'), SHAPING)
  const testbed = await startTestbed({
    RETRY_SCALE: '1',
    LEASE_SECONDS: '60',
    WARM_UP: '3,6',
    TLS_REPORT_FROM: 'tls@sender.example',
    SHAPING_FILE: join(dir, 'shaping.yaml'),
    EXTRA_CA_FILE: join(dir, 'ca.pem'),
  })
  undo.push(() => testbed.stop())
  testbed.dns.zone['smtp.provider.example'] = { A: ['127.0.0.1'] }
  const addReceiver: typeof testbed.addReceiver = async (...order) => {
    const receiver = await testbed.addReceiver(...order)
    receivers.add(receiver)
    return receiver
  }
  const endpoint = await startWebhookReceiver()
  undo.push(() => endpoint.close())
  return { testbed: { ...testbed, addReceiver }, mailbox, endpoint }
}

export async function findPausedAccount(db: Db): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(`SELECT id FROM connected_accounts WHERE state = 'paused'`)
  return rows[0]?.id
}

export async function readOpenNotices(db: Db): Promise<unknown[]> {
  // a check that runs every minute reports the source whose address is not on this machine, before or after a start
  const { rows } = await db.query(sql`
    SELECT kind, subject, count
    FROM operator_notices
    WHERE acknowledged_at IS NULL AND kind <> 'source-gone'
    ORDER BY kind, subject
  `)
  return rows
}

/** The recipients that are settled, each as JSON, except those whose state a later report changes. */
export async function readEndStates(db: Db, ended: SettledMail): Promise<string[]> {
  const { rows } = await db.query(
    sql`
      SELECT message_id, n, state, sequence
      FROM recipients
      WHERE NOT is_open AND message_id <> ALL ($1)
      ORDER BY 1, 2
    `,
    [[ended.bouncing, ended.opened]],
  )
  return rows.map((row) => JSON.stringify(row))
}

/** The attempts of each held message that must not be attempted again. */
export async function countAttempts(db: Db, held: readonly HeldMessage[]): Promise<unknown[]> {
  const { rows } = await db.query(
    'SELECT message_id, count(*)::int AS n FROM attempts WHERE message_id = ANY ($1) GROUP BY 1 ORDER BY 1',
    [held.flatMap(({ id, isRetried }) => (isRetried ? [] : [uuidOf(id)]))],
  )
  return rows
}

/** All work that is due and not done, except held messages. */
export async function listUnfinished(db: Db, held: readonly HeldMessage[]): Promise<string[]> {
  const { rows } = await db.query<{ what: string }>(
    sql`
      SELECT 'mail to ' || address AS what
      FROM recipients r
      WHERE is_open
        AND message_id <> ALL ($1)
        AND NOT EXISTS (SELECT FROM campaigns k WHERE k.id = r.campaign_id AND k.status = 'PAUSED')
      UNION ALL
      SELECT 'campaign ' || subject
      FROM campaigns
      WHERE is_open AND (status = 'SENT' OR status = 'CANCELLED')
      UNION ALL
      SELECT 'webhooks'
      FROM webhook_deliveries
      WHERE state = 'pending'
      UNION ALL
      SELECT 'calls'
      FROM automation_calls
      WHERE state = 'pending'
      UNION ALL
      SELECT 'contacts'
      FROM enrolments e
      JOIN automations a ON a.id = e.automation_id
      WHERE e.state = 'active' AND a.name IN ('mailing', 'calling')
      UNION ALL
      SELECT 'hits'
      FROM tracking_hits
      UNION ALL
      SELECT 'reports'
      FROM inbound_reports
      WHERE due_at IS NOT NULL
      UNION ALL
      SELECT 'actions'
      FROM operator_actions
      WHERE state <> 'done'
      UNION ALL
      SELECT 'dry runs'
      FROM dry_runs
      WHERE report IS NULL
      UNION ALL
      SELECT 'reviews of suppressions'
      FROM suppression_reviews
      WHERE ended_at IS NULL
      UNION ALL
      SELECT 'imports'
      FROM imports
      WHERE state <> 'done'
      UNION ALL
      SELECT 'arrivals'
      FROM tls_report_arrivals
      UNION ALL
      SELECT 'TLS reports'
      FROM tls_reports
      WHERE state <> 'sent'
    `,
    [held.map(({ id }) => uuidOf(id))],
  )
  return rows.map(({ what }) => what)
}

/** The status of each campaign, by subject. */
export async function readCampaignStatuses(db: Db): Promise<Record<string, string>> {
  const { rows } = await db.query<{ subject: string; status: string }>(
    'SELECT subject, status FROM campaigns ORDER BY id',
  )
  return Object.fromEntries(rows.map(({ subject, status }) => [subject, status]))
}

/** The state of each contact in an automation, after the automation's name. */
export async function readEnrolmentStates(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ name: string; state: string }>(
    'SELECT a.name, e.state FROM enrolments e JOIN automations a ON a.id = e.automation_id ORDER BY 1, e.id',
  )
  return rows.map(({ name, state }) => `${name} ${state}`)
}

/** The events that reports and readers cause after a message is settled, counted by type. */
export async function countLateEvents(db: Db, ended: SettledMail): Promise<unknown[]> {
  const { rows } = await db.query(
    sql`
      SELECT type, count(*)::int AS n
      FROM events
      WHERE message_id = ANY ($1) AND type IN ('email.opened', 'email.bounced')
      GROUP BY 1
      ORDER BY 1
    `,
    [[ended.opened, ended.bouncing]],
  )
  return rows
}

/** How often each mail was received, by address and subject. */
export function countCopies(receivers: Iterable<Receiver>, mailbox: MailboxServer): Map<string, number> {
  const copies = new Map<string, number>()
  const received = [
    ...[...receivers]
      .flatMap(({ messages }) => messages)
      .map(({ to, bytes }) => ({ to, text: bytes.toString('latin1') })),
    ...mailbox.messages.map(({ to, data }) => ({ to, text: data })),
  ]
  for (const { to, text } of received)
    for (const address of to) {
      const name = `${address} ${/^Subject: (.*?)\r?$/m.exec(text)?.[1]}`
      copies.set(name, (copies.get(name) ?? 0) + 1)
    }
  return copies
}

/**
 * A worker that dies between an endpoint's answer and its own commit posts the webhook again, with the same id
 * (worker/webhooks-faults.test.ts). The cold start expects each id once, so the worker must not be posting when it
 * dies.
 */
export async function waitForWebhooks(db: Db): Promise<void> {
  await until(
    async () => (await db.query("SELECT FROM webhook_deliveries WHERE state = 'pending' LIMIT 1")).rows.length === 0,
    () => 'webhooks are still pending',
  )
}
