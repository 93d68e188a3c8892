/**
 * Rows for migrations to work on, as an installation has them: each table is filled as soon as its migration has
 * created it, so that all later ones meet it full. Triggers do not run, and ids rise with time, as in production.
 */
import { APPLICATION_ROLE } from '#bin/supervisor/postgres-access.ts'
import { idAt } from '#src/platform/id.ts'
import { WEEK_MS, weekOf } from '#src/stores/partition-names.ts'
import { sql } from '#src/stores/sql.ts'

/** Runs a statement as a superuser. */
export type Run = (statement: string) => Promise<unknown>

/** Weeks that have mail, this one included. */
const WEEKS = 4
const MAX_SLICE = 500_000

interface FilledTable {
  readonly table: string
  /** Rows for each row of the largest tables. */
  readonly share: number
  readonly partitionKey?: string
  /** A SELECT of rows `first` to `last`; `id` is an expression for a UUIDv7 of row `i`. */
  readonly rows: (range: string, id: string) => string
  /** Columns by which an index finds a row. */
  readonly key: string
  /** An assignment that changes nothing. */
  readonly touch: string
}

const WORKSPACE = `'00000000-0000-7000-8000-000000000001'::uuid`

/** Tables by the migration after which they are filled. */
export const FILLED: Readonly<Record<string, readonly FilledTable[]>> = {
  '001-spine.ts': [
    {
      table: 'messages',
      key: 'id',
      share: 1,
      partitionKey: 'id',
      touch: 'subject = subject',
      rows: (range, id) => sql`
        INSERT INTO messages (
          id, workspace_id, tier, from_email, to_list, subject, body_text, content_size, recipient_count, created_at
        )
        SELECT ${id}, ${WORKSPACE}, 'normal', 'shop@sender.example', '[]', 'Your order', 'Thank you.', 80, 1, now()
        FROM ${range}
      `,
    },
    {
      table: 'recipients',
      key: 'message_id',
      share: 1,
      partitionKey: 'message_id',
      touch: 'reason = reason',
      rows: (range, id) => sql`
        INSERT INTO recipients (
          message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
        )
        SELECT ${id}, 0, ${WORKSPACE}, 'normal', 'to', 'r' || i || '@d' || i % 200 || '.example',
          'd' || i % 200 || '.example', CASE WHEN i % 10 = 0 THEN 'queued' ELSE 'delivered' END, i % 10 = 0, now(),
          true, now()
        FROM ${range}
      `,
    },
    {
      table: 'attempts',
      key: 'message_id',
      share: 0.1,
      partitionKey: 'message_id',
      touch: 'host = host',
      rows: (range, id) => sql`
        INSERT INTO attempts (message_id, n, attempt, at, outcome, duration_ms, conversation)
        SELECT ${id}, 0, 1, now(), 'delivered', 20, 'S: 250 ok'
        FROM ${range}
      `,
    },
    {
      table: 'events',
      key: 'message_id',
      share: 1,
      partitionKey: 'id',
      touch: 'data = data',
      rows: (range, id) => sql`
        INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, created_at)
        SELECT ${id}, ${WORKSPACE}, CASE i % 20 WHEN 0 THEN 'email.opened' WHEN 1 THEN 'email.bounced'
          ELSE 'email.delivered' END, ${id}, 0, 1, 'r' || i || '@d.example', now()
        FROM ${range}
      `,
    },
    {
      table: 'suppressions',
      key: 'workspace_id, address',
      share: 1,
      touch: 'cause = cause',
      rows: (range) => sql`
        INSERT INTO suppressions (workspace_id, address, cause)
        SELECT ${WORKSPACE}, 'r' || lpad(i::text, 9, '0') || '@d.example', '550 5.1.1 no such user'
        FROM ${range}
      `,
    },
    {
      table: 'webhook_deliveries',
      key: 'event_id',
      share: 1,
      touch: 'tries = tries',
      rows: (range, id) => sql`
        INSERT INTO webhook_deliveries (event_id, endpoint_id, workspace_id, state, due_at)
        SELECT ${id}, ${WORKSPACE}, ${WORKSPACE}, 'delivered', now()
        FROM ${range}
      `,
    },
    {
      table: 'sandbox_inbox',
      key: 'id',
      share: 0.01,
      touch: 'subject = subject',
      rows: (range, id) => sql`
        INSERT INTO sandbox_inbox (id, received_at, mail_from, rcpt_to, dkim, raw)
        SELECT ${id}, now(), 'a@sender.example', 'b@d.example', '[]', 'Subject: x'
        FROM ${range}
      `,
    },
  ],
  '004-contacts.ts': [
    {
      table: 'contacts',
      key: 'id',
      share: 1,
      touch: 'given = given',
      rows: (range, id) => sql`
        INSERT INTO contacts (id, workspace_id, email, first_name)
        SELECT ${id}, ${WORKSPACE}, 'r' || lpad(i::text, 9, '0') || '@d.example', 'Ann'
        FROM ${range}
      `,
    },
    {
      table: 'memberships',
      key: 'contact_id',
      share: 0.2,
      touch: 'updated_at = updated_at',
      rows: (range, id) => sql`
        INSERT INTO memberships (audience_id, contact_id, workspace_id, email)
        SELECT ${WORKSPACE}, ${id}, ${WORKSPACE}, 'r' || lpad(i::text, 9, '0') || '@d.example'
        FROM ${range}
      `,
    },
  ],
  '007-automations.ts': [
    {
      table: 'enrolments',
      key: 'contact_id',
      share: 1,
      touch: 'reason = reason',
      rows: (range, id) => sql`
        INSERT INTO enrolments (automation_id, id, workspace_id, contact_id, version, state, step, due_at, created_at)
        SELECT ${WORKSPACE}, ${id}, ${WORKSPACE}, ${id}, 1, CASE WHEN i % 4 = 0 THEN 'active' ELSE 'completed' END,
          's' || i % 7, now(), now()
        FROM ${range}
      `,
    },
  ],
  '018-campaigns.ts': [
    {
      table: 'campaign_recipients',
      key: 'campaign_id, contact_id',
      share: 1,
      touch: 'reason = reason',
      rows: (range, id) => sql`
        INSERT INTO campaign_recipients (campaign_id, contact_id, workspace_id, email, state, is_waiting)
        SELECT ${WORKSPACE}, ${id}, ${WORKSPACE}, 'r' || i || '@d.example', 'delivered', false
        FROM ${range}
      `,
    },
  ],
  '035-audit-log.ts': [
    {
      table: 'audit_log',
      key: 'id',
      share: 1,
      touch: 'address = address',
      rows: (range, id) => sql`
        INSERT INTO audit_log (id, workspace_id, actor_kind, actor, action, kind, object, change)
        SELECT ${id}, ${WORKSPACE}, 'key', 'k', 'contacts.save', 'contact', i::text, 'update'
        FROM ${range}
      `,
    },
  ],
  '075-inbound-mail.ts': [
    {
      table: 'received_emails',
      key: 'id',
      share: 0.2,
      touch: 'subject = subject',
      rows: (range, id) => sql`
        INSERT INTO received_emails (
          id, workspace_id, route_id, action, recipient, mail_from, from_address, peer, helo, is_tls, size, raw, state
        )
        SELECT ${id}, ${WORKSPACE}, ${WORKSPACE}, 'store', 'help@sender.example', 'r' || i || '@d.example',
          'r' || i || '@d.example', '192.0.2.1', 'mx.d.example', true, 10, 'Subject: x', 'processed'
        FROM ${range}
      `,
    },
  ],
}

export interface Amount {
  readonly rows: number
  /** Only these tables; all by default. */
  readonly tables?: readonly string[] | undefined
}

/** Fills the tables that `migration` has created. Returns their names. */
export async function fillAfter(migration: string, amount: Amount, nowMs: number, run: Run): Promise<string[]> {
  const tables = (FILLED[migration] ?? []).filter(({ table }) => amount.tables?.includes(table) ?? true)
  for (const table of tables) await fillTable(table, Math.ceil(amount.rows * table.share), nowMs, run)
  return tables.map(({ table }) => table)
}

async function fillTable(
  { table, partitionKey, rows }: FilledTable,
  count: number,
  nowMs: number,
  run: Run,
): Promise<void> {
  const firstWeek = weekOf(nowMs) - (WEEKS - 1) * WEEK_MS
  const perWeek = Math.ceil(count / WEEKS)
  await run('SET session_replication_role = replica')
  for (let week = 0; week < WEEKS; week++) {
    const startMs = firstWeek + week * WEEK_MS
    const slice = Math.min(perWeek, MAX_SLICE)
    if (partitionKey !== undefined) await createPartition(table, startMs, run)
    for (let from = 0; from < perWeek; from += slice) {
      const first = week * perWeek + from
      const range = `generate_series(${first}, ${first + Math.min(slice, perWeek - from) - 1}) i`
      await run(rows(range, idExpression(startMs, week * perWeek, perWeek)))
    }
  }
  await run('RESET session_replication_role')
}

/** A UUIDv7 in the week that starts at `startMs`, unique for each `i`. */
function idExpression(startMs: number, offset: number, perWeek: number): string {
  const step = Math.max(1, Math.floor((WEEK_MS - 1) / perWeek))
  const hex = `lpad(to_hex(${startMs}::bigint + (i - ${offset}) * ${step}::bigint), 12, '0')`
  return `(${hex} || '70008000' || lpad(to_hex(i), 12, '0'))::uuid`
}

async function createPartition(table: string, startMs: number, run: Run): Promise<void> {
  const name = `${table}_${new Date(startMs).toISOString().slice(0, 10).replaceAll('-', '')}`
  const bounds = `FROM ('${idAt(startMs)}') TO ('${idAt(startMs + WEEK_MS)}')`
  // the role that migrates must own it
  await run(`SET ROLE ${APPLICATION_ROLE}`)
  await run(`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${table} FOR VALUES ${bounds}`)
  await run('RESET ROLE')
}
