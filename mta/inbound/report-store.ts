/**
 * Reports as they are stored: taken in batches that share a commit, and given out when they are due, each to one process at a time.
 * For each recipient only so many are kept: whoever has a return-path of ours may send to it as often as he likes, and after some reports
 * there is nothing more to be learned. Letters (what no token says the subject of) are few and kept for the operator.
 */
import { createBatcher, type Batcher } from '#src/concurrency/batcher.ts'
import { binaryColumnsOf, type Column } from '#src/stores/binary-columns.ts'
import { columnsOf, jsonOrNull } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type { Incoming } from './listener.ts'
import type { RecentRaws } from './recent-report-bytes.ts'
import type { Result } from './report-meaning.ts'

/** A report may be 128 KB: a batch stays a few MB. */
const MAX_BATCH = 32
const LANES = 2
/** Nobody waits for a report: what comes within a moment shares a commit. */
const GATHER_MS = 10
const MOST_OF_ONE_RECIPIENT = 20
const MAX_SENDER = 320

/** A mail and whose report it is; null for a letter. */
export interface Arrived extends Incoming {
  readonly recipient: { readonly messageId: string; readonly n: number } | null
}

type Row = Arrived & { readonly id: string; readonly place: number }

const INSERT = prepared(
  'inbound-take',
  sql`
    INSERT INTO inbound_reports (id, received_at, target, message_id, n, mail_from, peer, size, raw, due_at, result)
    SELECT i.id, $10::timestamptz, i.target, i.message_id, i.n, i.mail_from, i.peer, i.size, i.raw,
      CASE WHEN i.message_id IS NOT NULL THEN $10::timestamptz END, CASE WHEN i.message_id IS NULL THEN 'kept' END
    FROM unnest(
      $1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::text[], $6::text[], $7::integer[], $8::bytea[],
      $9::smallint[]
    ) AS i (id, target, message_id, n, mail_from, peer, size, raw, place)
    WHERE i.message_id IS NULL
      OR (SELECT count(*) FROM inbound_reports r WHERE r.message_id = i.message_id AND r.n = i.n)
        + i.place < ${MOST_OF_ONE_RECIPIENT}
  `,
)

const COLUMNS: readonly Column<Row>[] = [
  ['uuid', (t) => t.id],
  ['text', (t) => t.target.kind],
  ['uuid', (t) => t.recipient?.messageId ?? null],
  ['smallint', (t) => t.recipient?.n ?? null],
  ['text', (t) => plain(t.mailFrom).slice(0, MAX_SENDER)],
  ['text', (t) => t.peer],
  ['integer', (t) => t.size],
  ['bytea', (t) => t.raw],
  ['smallint', (t) => t.place],
]

/** Resolves when the report is committed, or is one too many of its recipient. `recent` keeps what is stored at hand for reading. */
export function createTaking(ctx: Context, recent: RecentRaws, onStored: () => void): Batcher<Arrived, null> {
  return createBatcher<Arrived, null>(
    async (batch) => {
      const now = new Date(ctx.clock.now())
      const places = placesOf(batch)
      const rows = batch.map((one, i): Row => ({ ...one, id: newId(now.getTime()), place: places[i] ?? 0 }))
      await ctx.db.query(INSERT, [...binaryColumnsOf(rows, COLUMNS), now])
      for (const { id, recipient, raw } of rows) if (recipient !== null) recent.put(id, raw)
      onStored()
      return batch.map(() => null)
    },
    { max: MAX_BATCH, lanes: LANES, gatherMs: GATHER_MS },
  )
}

/** How many of the same recipient stand before each in the batch: the statement does not see its own rows. */
function placesOf(batch: readonly Arrived[]): number[] {
  const counts = new Map<string, number>()
  return batch.map(({ recipient }) => {
    const key = recipient === null ? '' : `${recipient.messageId} ${recipient.n}`
    const place = counts.get(key) ?? 0
    counts.set(key, place + 1)
    return place
  })
}

/** PostgreSQL takes no NUL in a text. */
export function plain(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cs}/gu, '?')
}

/** A report that is due. */
export interface DueReport {
  readonly id: string
  readonly messageId: string
  readonly n: number
  readonly tries: number
  readonly raw: Buffer
}

const DUE = prepared(
  'inbound-due',
  sql`
    SELECT id, message_id AS "messageId", n, tries
    FROM inbound_reports
    WHERE due_at <= $1
    ORDER BY due_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
  `,
)

const RAWS = prepared('inbound-raws', 'SELECT id, raw FROM inbound_reports WHERE id = ANY ($1::uuid[])')

/**
 * Locked for this transaction: what another process has is skipped, and what it leaves behind when it dies comes again. The bytes of those
 * that this process took a moment ago are at hand and need not come back.
 */
export async function lockDue(
  tx: Queryable,
  recent: RecentRaws,
  { now, most }: { now: Date; most: number },
): Promise<DueReport[]> {
  const { rows } = await tx.query<Omit<DueReport, 'raw'>>(DUE, [now, most])
  const raws = new Map(rows.map(({ id }) => [id, recent.take(id)]))
  const missing = rows.flatMap(({ id }) => (raws.get(id) === undefined ? [id] : []))
  const stored = missing.length === 0 ? [] : (await tx.query<{ id: string; raw: Buffer }>(RAWS, [missing])).rows
  for (const { id, raw } of stored) raws.set(id, raw)
  return rows.map((row) => ({ ...row, raw: raws.get(row.id) ?? Buffer.alloc(0) }))
}

/** What became of a report. */
export interface Applied {
  readonly id: string
  readonly kind: string
  readonly facts: object | null
  readonly result: Result
  readonly eventId: string | null
  /** When it is looked at again; null = never. */
  readonly dueAt: Date | null
}

const APPLIED = prepared(
  'inbound-applied',
  sql`
    UPDATE inbound_reports r
    SET kind = i.kind,
      facts = i.facts::jsonb,
      result = i.result,
      event_id = i.event_id,
      due_at = i.due_at,
      tries = r.tries + CASE WHEN i.due_at IS NULL THEN 0 ELSE 1 END
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::timestamptz[]) AS i (
      id, kind, facts, result, event_id, due_at
    )
    WHERE r.id = i.id
  `,
)

export async function writeApplied(tx: Queryable, applied: readonly Applied[]): Promise<void> {
  await tx.query(
    APPLIED,
    columnsOf(applied, [
      (a) => a.id,
      (a) => a.kind,
      (a) => jsonOrNull(a.facts),
      (a) => a.result,
      (a) => a.eventId,
      (a) => a.dueAt,
    ]),
  )
}
