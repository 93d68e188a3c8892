/**
 * Queries that list stored reports for the operator. The diagnostic text is untrusted and truncated to 300 characters.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newestFirst, readUncounted, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'

export interface ReportListEntry {
  readonly id: string
  readonly receivedAt: Date
  readonly kind: string | null
  /** A key of REPORT_RESULTS (report-evaluation.ts); null while the report is not processed. */
  readonly result: string | null
  readonly messageId: string | null
  /** The address of our recipient. */
  readonly recipient: string | null
  readonly mailFrom: string
  readonly peer: string
  readonly diagnostic: string | null
}

interface ReportFilter extends Pick<PageRequest, 'limit' | 'at'> {
  /** Lists mail to postmaster instead of reports. */
  readonly isForPostmaster: boolean
}

const COLUMNS = sql`
  i.id, i.received_at AS "receivedAt", i.kind, i.result, i.message_id AS "messageId", r.address AS recipient,
  i.mail_from AS "mailFrom", i.peer, left(i.facts->>'diagnostic', 300) AS diagnostic
`

/** Newest first. */
export function listReports(db: Queryable, { isForPostmaster, ...page }: ReportFilter): Promise<Page<ReportListEntry>> {
  return readUncounted<ReportListEntry>(
    db,
    {
      columns: COLUMNS,
      from: 'inbound_reports i',
      joins: 'LEFT JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n',
      where: '(i.message_id IS NULL) = $1',
      order: newestFirst('i.id'),
      values: [isForPostmaster],
    },
    page,
  )
}

export async function readRawReport(db: Queryable, id: string): Promise<Buffer | null> {
  const {
    rows: [row],
  } = await db.query<{ raw: Buffer }>('SELECT raw FROM inbound_reports WHERE id = $1', [id])
  return row?.raw ?? null
}

export interface InboundBacklog {
  /** Reports that are due and not processed. */
  readonly waiting: number
  readonly oldest: Date | null
  /** Mails to postmaster in the last seven days. */
  readonly postmasterMails: number
}

export async function readBacklog(db: Queryable): Promise<InboundBacklog> {
  const {
    rows: [row],
  } = await db.query<InboundBacklog>(sql`
    SELECT count(*) FILTER (WHERE due_at < now() AND message_id IS NOT NULL) AS waiting,
      min(due_at) FILTER (WHERE due_at < now()) AS oldest,
      (
        SELECT count(*)
        FROM inbound_reports
        WHERE message_id IS NULL AND received_at > now() - interval '7 days'
      ) AS "postmasterMails"
    FROM inbound_reports
    WHERE due_at IS NOT NULL
  `)
  return row ?? { waiting: 0, oldest: null, postmasterMails: 0 }
}
