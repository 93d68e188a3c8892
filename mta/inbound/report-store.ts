/**
 * Stores inbound reports: batches of inserts share a commit, and each due report is locked by one process at a time.
 * The number of reports per recipient is limited, because anybody who has a return-path can send to it without end.
 * Mail without a valid token (to postmaster, or a complaint that quotes none of our messages) is kept for the operator.
 */
import { createBatcher, type Batcher } from '#src/concurrency/batcher.ts'
import { binaryColumnsOf, type BinaryColumn } from '#src/stores/binary-columns.ts'
import { columnsOf, jsonOrNull } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type { IncomingMail } from './listener.ts'
import type { RecentReportCache } from './recent-report-cache.ts'
import type { ReportResult } from './report-evaluation.ts'

/** A report may be 128 KB: a batch stays a few MB. */
const MAX_BATCH = 32
const CONCURRENCY = 2
/** Reports are not urgent: those that arrive within this time share a commit. */
const LINGER_MS = 10
const MAX_PER_RECIPIENT = 20
const MAX_MAIL_FROM = 320

/** A mail and the recipient that it is about; null for mail without a valid token. */
export interface ReceivedReport extends IncomingMail {
  readonly recipient: { readonly messageId: string; readonly n: number } | null
}

type ReportRow = ReceivedReport & { readonly id: string; readonly batchIndex: number }

const INSERT = prepared(
  'inbound-insert',
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
        + i.place < ${MAX_PER_RECIPIENT}
  `,
)

const COLUMNS: readonly BinaryColumn<ReportRow>[] = [
  ['uuid', (t) => t.id],
  ['text', (t) => t.target.kind],
  ['uuid', (t) => t.recipient?.messageId ?? null],
  ['smallint', (t) => t.recipient?.n ?? null],
  ['text', (t) => replaceControlCharacters(t.mailFrom).slice(0, MAX_MAIL_FROM)],
  ['text', (t) => t.peer],
  ['integer', (t) => t.size],
  ['bytea', (t) => t.raw],
  ['smallint', (t) => t.batchIndex],
]

/**
 * `add` resolves when the report is committed, or dropped because its recipient has too many. `recent` caches its
 * bytes.
 */
export function createReportBatcher(
  ctx: Context,
  recent: RecentReportCache,
  onStored: () => void,
): Batcher<ReceivedReport, null> {
  return createBatcher<ReceivedReport, null>(
    async (batch) => {
      const now = new Date(ctx.clock.now())
      const indexes = batchIndexes(batch)
      const rows = batch.map((one, i): ReportRow => ({ ...one, id: newId(now.getTime()), batchIndex: indexes[i] ?? 0 }))
      await ctx.db.query(INSERT, [...binaryColumnsOf(rows, COLUMNS), now])
      for (const { id, recipient, raw } of rows) if (recipient !== null) recent.put(id, raw)
      onStored()
      return batch.map(() => null)
    },
    { max: MAX_BATCH, concurrency: CONCURRENCY, lingerMs: LINGER_MS },
  )
}

/**
 * How many reports of the same recipient precede each in the batch, because the statement does not see its own rows.
 */
function batchIndexes(batch: readonly ReceivedReport[]): number[] {
  const counts = new Map<string, number>()
  return batch.map(({ recipient }) => {
    const key = recipient === null ? '' : `${recipient.messageId} ${recipient.n}`
    const index = counts.get(key) ?? 0
    counts.set(key, index + 1)
    return index
  })
}

/** PostgreSQL rejects NUL in text. */
export function replaceControlCharacters(text: string): string {
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

const SELECT_DUE = prepared(
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

const SELECT_RAW = prepared('inbound-raws', 'SELECT id, raw FROM inbound_reports WHERE id = ANY ($1::uuid[])')

/**
 * Locks due reports for this transaction and skips those that another process has locked. If a process dies, its
 * reports become available again. The cache supplies the bytes of reports that this process has just accepted.
 */
export async function lockDueReports(
  tx: Queryable,
  recent: RecentReportCache,
  { now, limit }: { now: Date; limit: number },
): Promise<DueReport[]> {
  const { rows } = await tx.query<Omit<DueReport, 'raw'>>(SELECT_DUE, [now, limit])
  const raws = new Map(rows.map(({ id }) => [id, recent.consume(id)]))
  const missing = rows.flatMap(({ id }) => (raws.get(id) === undefined ? [id] : []))
  const stored = missing.length === 0 ? [] : (await tx.query<{ id: string; raw: Buffer }>(SELECT_RAW, [missing])).rows
  for (const { id, raw } of stored) raws.set(id, raw)
  return rows.map((row) => ({ ...row, raw: raws.get(row.id) ?? Buffer.alloc(0) }))
}

/** The outcome of processing a report. */
export interface AppliedReport {
  readonly id: string
  readonly kind: string
  readonly facts: object | null
  readonly result: ReportResult
  readonly eventId: string | null
  /** When to process it again; null: never. */
  readonly dueAt: Date | null
}

const UPDATE_APPLIED = prepared(
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

export async function recordApplied(tx: Queryable, applied: readonly AppliedReport[]): Promise<void> {
  await tx.query(
    UPDATE_APPLIED,
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
