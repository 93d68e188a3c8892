/** Reports as the operator looks at them. What strangers wrote is capped, and shown by whoever knows where. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface ReportLine {
  readonly id: string
  readonly receivedAt: Date
  readonly kind: string | null
  /** report-meaning.ts; null while it waits to be read. */
  readonly result: string | null
  readonly messageId: string | null
  /** Of ours that it is about. */
  readonly recipient: string | null
  readonly mailFrom: string
  readonly peer: string
  readonly diagnostic: string | null
}

interface ReportFilter {
  /** Letters to the postmaster, instead of reports. */
  readonly hasLetters: boolean
  readonly limit: number
}

/** The newest first. */
export async function listReports(db: Queryable, { hasLetters, limit }: ReportFilter): Promise<ReportLine[]> {
  const { rows } = await db.query<ReportLine>(
    sql`
      SELECT i.id, i.received_at AS "receivedAt", i.kind, i.result, i.message_id AS "messageId", r.address AS recipient,
        i.mail_from AS "mailFrom", i.peer, left(i.facts->>'diagnostic', 300) AS diagnostic
      FROM inbound_reports i
      LEFT JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n
      WHERE (i.message_id IS NULL) = $1
      ORDER BY i.id DESC
      LIMIT $2
    `,
    [hasLetters, limit],
  )
  return rows
}

export async function readRaw(db: Queryable, id: string): Promise<Buffer | null> {
  const {
    rows: [row],
  } = await db.query<{ raw: Buffer }>('SELECT raw FROM inbound_reports WHERE id = $1', [id])
  return row?.raw ?? null
}

export interface Backlog {
  /** Reports that are due and not read. */
  readonly waiting: number
  readonly oldest: Date | null
  /** To the postmaster, in the last week. */
  readonly letters: number
}

export async function readBacklog(db: Queryable): Promise<Backlog> {
  const {
    rows: [row],
  } = await db.query<Backlog>(sql`
    SELECT count(*) FILTER (WHERE due_at < now() AND message_id IS NOT NULL) AS waiting,
      min(due_at) FILTER (WHERE due_at < now()) AS oldest,
      (
        SELECT count(*)
        FROM inbound_reports
        WHERE message_id IS NULL AND received_at > now() - interval '7 days'
      ) AS letters
    FROM inbound_reports
    WHERE due_at IS NOT NULL
  `)
  return row ?? { waiting: 0, oldest: null, letters: 0 }
}
