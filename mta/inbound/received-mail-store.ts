/**
 * Stores received mail until it is processed. Mail that arrives at the same time shares a commit; the caller answers
 * 250 after it. A claim leases mail for two minutes: if the process dies, another one claims it again.
 */
import { createBatcher, type Batcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import { binaryColumnsOf, type BinaryColumn } from '#src/stores/binary-columns.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { replaceControlCharacters } from './report-store.ts'
import type { RoutedRecipient } from './route-directory.ts'

export interface ArrivedMail extends RoutedRecipient {
  readonly mailFrom: string
  readonly peer: string
  readonly helo: string
  readonly isTls: boolean
  readonly raw: Buffer
}

/** A batch: so many mails, or so many octets; a larger mail is a batch of its own. */
const MAX_BATCH = 64
const WEIGHT_OCTETS = 128 * 1024
const CONCURRENCY = 3
const MAX_TEXT = 320

interface MailRow extends ArrivedMail {
  readonly id: string
}

const INSERT = prepared(
  'received-insert',
  sql`
    WITH arrived AS (
      SELECT i.*
      FROM unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[],
        $10::integer[], $11::bytea[]
      ) AS i (id, workspace_id, route_id, action, recipient, mail_from, peer, helo, is_tls, size, raw)
      JOIN workspaces w ON w.id = i.workspace_id
    ),
    used AS (
      INSERT INTO inbound_usage (workspace_id, day, emails, octets)
      SELECT workspace_id, ($12::timestamptz AT TIME ZONE 'UTC')::date, count(*), sum(size)
      FROM arrived
      GROUP BY workspace_id
      ORDER BY workspace_id
      ON CONFLICT (workspace_id, day)
      DO UPDATE SET emails = inbound_usage.emails + excluded.emails, octets = inbound_usage.octets + excluded.octets
    )
    INSERT INTO received_emails (
      id, workspace_id, route_id, action, recipient, mail_from, peer, helo, is_tls, size, raw, due_at
    )
    SELECT id, workspace_id, route_id, action, recipient, mail_from, peer, helo, is_tls, size, raw, $12
    FROM arrived
    RETURNING id
  `,
)

const text = (given: string): string => replaceControlCharacters(given).slice(0, MAX_TEXT)

const COLUMNS: readonly BinaryColumn<MailRow>[] = [
  ['uuid', (m) => m.id],
  ['uuid', (m) => m.workspaceId],
  ['uuid', (m) => m.routeId],
  ['text', (m) => m.action],
  ['text', (m) => text(m.recipient)],
  ['text', (m) => text(m.mailFrom)],
  ['text', (m) => m.peer],
  ['text', (m) => text(m.helo)],
  ['boolean', (m) => m.isTls],
  ['integer', (m) => m.raw.length],
  ['bytea', (m) => m.raw],
]

/** `add` resolves to the id of the stored mail, or to null if its workspace is gone. */
export function createReceivedMailBatcher(ctx: Context, onStored: () => void): Batcher<ArrivedMail, string | null> {
  return createBatcher<ArrivedMail, string | null>(
    async (batch) => {
      const now = new Date(ctx.clock.now())
      const rows = batch.map((one): MailRow => ({ ...one, id: newId(now.getTime()) }))
      const stored = await ctx.db.query<{ id: string }>(INSERT, [...binaryColumnsOf(rows, COLUMNS), now])
      const ids = new Set(stored.rows.map(({ id }) => id))
      onStored()
      return rows.map(({ id }) => (ids.has(id) ? id : null))
    },
    {
      max: MAX_BATCH,
      concurrency: CONCURRENCY,
      weightOf: ({ raw }) => Math.ceil(raw.length / WEIGHT_OCTETS),
    },
  )
}

export interface ClaimedMail {
  readonly id: string
  readonly workspaceId: string
  readonly routeId: string
  readonly action: string
  readonly recipient: string
  readonly mailFrom: string
  readonly peer: string
  readonly helo: string
  readonly isTls: boolean
  readonly raw: Buffer
  /** Includes this attempt. */
  readonly tries: number
}

/** Octets of one claim; it has at least one mail. */
const CLAIM_OCTETS = 16 * 1024 * 1024

const CLAIM = prepared(
  'received-claim',
  sql`
    WITH due AS MATERIALIZED (
      SELECT id, size
      FROM received_emails
      WHERE due_at <= $1
      ORDER BY due_at
      LIMIT $2
      FOR UPDATE SKIP LOCKED
    ),
    fitting AS (
      SELECT id, sum(size) OVER (ORDER BY id) - size AS before
      FROM due
    )
    UPDATE received_emails
    SET due_at = $1::timestamptz + interval '2 minutes', tries = tries + 1
    WHERE id IN (SELECT id FROM fitting WHERE before < ${CLAIM_OCTETS})
    RETURNING id, workspace_id AS "workspaceId", route_id AS "routeId", action, recipient, mail_from AS "mailFrom",
      peer, helo, is_tls AS "isTls", raw, tries
  `,
)

export async function claimReceivedMail(db: Queryable, now: Date, most: number): Promise<ClaimedMail[]> {
  return (await db.query<ClaimedMail>(CLAIM, [now, most])).rows
}
