/**
 * Sends delivery status notifications for messages that were submitted by SMTP: for failures, and for deliveries if
 * requested, to the envelope sender if it is an address of the workspace. Each report is a message with the null
 * sender, so no report is ever sent about a report.
 *
 * Events are read in the order of the feed, after a cursor. A crash after some reports were accepted and before the
 * cursor moved: they are submitted again, and their idempotency keys prevent duplicates. The same holds for two workers
 * at the same time. Only the weeks since the cursor are read, so it also advances while there is nothing to report.
 */
import type { Config } from '#config/load.ts'
import type { Queryable } from '#src/stores/db.ts'
import { hexOf, idAt, newId, timeOf } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { type DeliveryReportFacts, composeDeliveryReport } from '#src/mail/delivery-report.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { MAX_EVENT_LAG_MS } from '#src/events/reported-event.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly } from '#src/stores/weeks.ts'
import { bodyColumn, COMPRESSED_BODY, joinBody } from './bodies.ts'
import { decompressBody } from './body-compression.ts'
import type { Acceptor } from './accept.ts'
import { type Submission, type SubmittedEnvelope, isReportRequested } from './submission.ts'

interface ReportEvent {
  readonly id: string
  readonly tx: string
  readonly type: string
  readonly messageId: string
  readonly n: number
  readonly recipient: string
  readonly data: Readonly<Record<string, unknown>> | null
}

/** A message that was submitted by SMTP, and the last attempt for a recipient. */
interface Submitted {
  readonly submitted: SubmittedEnvelope
  readonly workspaceId: string
  readonly domainId: string | null
  readonly from: string
  readonly subject: string
  readonly arrivedAt: Date
  readonly original: Buffer | null
  readonly octets: number | null
  readonly host: string | null
  readonly status: string | null
  readonly reply: string | null
  readonly code: number | null
  readonly attemptAt: Date | null
}

interface SubmittedRow extends Submitted {
  readonly ord: string | number
  readonly compressed: Buffer | null
}

type Row = ReportEvent & Submitted

const BATCH = 100
const FIRST_ID = '00000000-0000-0000-0000-000000000000'
/** A larger message is quoted by its header only, also for RET=FULL. */
const MAX_QUOTED = 1_000_000
const MAX_HEADER = 65_536

const READ = sql`
  SELECT id, tx, type, message_id AS "messageId", n, recipient, data
  FROM events
  WHERE (type IN ('email.bounced', 'email.failed') OR jsonb_exists(data, 'dsn'))
    AND (tx, id) > ($1::xid8, $2::uuid)
    AND id >= $3
    AND tx < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY tx, id
  LIMIT ${BATCH}
`

const SUBMITTED = weekly(
  'reports-submitted',
  (weeks) => sql`
    SELECT i.ord, m.submitted, m.workspace_id AS "workspaceId", m.domain_id AS "domainId", m.from_email AS "from",
      m.subject, m.created_at AS "arrivedAt", length(${bodyColumn('raw')}) AS octets,
      CASE
        WHEN m.submitted ? 'reportTo'
          THEN substring(
            ${bodyColumn('raw')} FOR CASE WHEN m.submitted ->> 'ret' = 'FULL' THEN ${MAX_QUOTED} ELSE ${MAX_HEADER} END
          )
      END AS original,
      CASE WHEN m.submitted ? 'reportTo' THEN ${COMPRESSED_BODY} END AS compressed,
      a.host, a.reply_status AS status, a.reply_text AS reply, a.reply_code AS code, a.at AS "attemptAt"
    FROM unnest($1::uuid[], $2::smallint[]) WITH ORDINALITY AS i (message_id, n, ord)
    JOIN messages m ON m.id = i.message_id AND ${weeks.contain('m.id')}
    ${joinBody(weeks)}
    LEFT JOIN LATERAL (
      SELECT *
      FROM attempts
      WHERE message_id = i.message_id
        AND ${weeks.contain('message_id')}
        AND n = i.n
        AND m.submitted ? 'reportTo'
      ORDER BY attempt DESC
      LIMIT 1
    ) a ON true
    WHERE ${expectOneRow('i.ord')} AND m.submitted IS NOT NULL
  `,
)

interface ReportCursor {
  readonly tx: string
  readonly id: string
  /** Events after the cursor were written from this time on. */
  readonly sinceMs: number
  readonly nowMs: number
  /** Events of earlier transactions are complete. */
  readonly completeTx: string
  /** It was restored from another cluster and is far ahead of this one (src/events/feed.ts). */
  readonly isForeign: boolean
}

const CURSOR = sql`
  SELECT tx, id, extract(epoch FROM least(since, now()))::float8 * 1000 AS "sinceMs",
    extract(epoch FROM now())::float8 * 1000 AS "nowMs", pg_snapshot_xmin(pg_current_snapshot()) AS "completeTx",
    tx > pg_snapshot_xmax(pg_current_snapshot()) AS "isForeign"
  FROM report_cursor
`

/** A foreign cursor starts anew. */
const RESET_FOREIGN_CURSOR = sql`
  UPDATE report_cursor
  SET tx = pg_snapshot_xmin(pg_current_snapshot()), id = '${FIRST_ID}', since = now()
  WHERE tx > pg_snapshot_xmax(pg_current_snapshot())
`

const ADVANCE = sql`
  UPDATE report_cursor
  SET tx = $1, id = $2, since = greatest(since, to_timestamp($3::float8 / 1000))
  WHERE (tx, id) < ($1::xid8, $2::uuid)
`

/** Without reports the cursor advances this often, so that the weeks before it are not read. */
const IDLE_ADVANCE_MS = 3_600_000

export interface DeliveryReporting {
  readonly db: Queryable
  readonly config: Pick<Config, 'serverName'>
  readonly acceptor: Acceptor
}

/** Submits the reports that are due; true when there may be more. */
export async function sendDeliveryReports({ db, config, acceptor }: DeliveryReporting, now: Date): Promise<boolean> {
  const cursor = await readCursor(db)
  if (cursor === null) return false
  const { rows: events } = await db.query<ReportEvent>(READ, [cursor.tx, cursor.id, firstIdAfter(cursor)])
  const rows = await addSubmitted(db, events)
  const reports = rows.filter(isRequested).flatMap((row) => reportOf(row, config.serverName, now) ?? [])
  await Promise.all(reports.map((report) => acceptor.accept(report)))
  const last = events.at(-1)
  if (last !== undefined) await db.query(ADVANCE, [last.tx, last.id, Math.min(timeOf(last.id), cursor.nowMs)])
  else if (cursor.nowMs - cursor.sinceMs > IDLE_ADVANCE_MS)
    await db.query(ADVANCE, [cursor.completeTx, FIRST_ID, cursor.nowMs])
  return events.length === BATCH
}

/** Null if it was reset: the next round reads it again. */
async function readCursor(db: Queryable): Promise<ReportCursor | null> {
  const {
    rows: [cursor],
  } = await db.query<ReportCursor>(CURSOR)
  if (cursor?.isForeign !== true) return cursor ?? null
  await db.query(RESET_FOREIGN_CURSOR)
  return null
}

function firstIdAfter({ sinceMs }: ReportCursor): string {
  return idAt(Math.max(0, Math.floor(sinceMs - MAX_EVENT_LAG_MS)))
}

/** The events of messages that were submitted by SMTP, with what a report quotes. */
async function addSubmitted(db: Queryable, events: readonly ReportEvent[]): Promise<Row[]> {
  if (events.length === 0) return []
  const { rows } = await db.query<SubmittedRow>(
    SUBMITTED.for(events.map(({ messageId }) => messageId)),
    columnsOf(events, [(e) => e.messageId, (e) => e.n]),
  )
  const found = new Map(rows.map((row) => [Number(row.ord), row]))
  return events.flatMap((event, i) => {
    const submitted = found.get(i + 1)
    return submitted === undefined ? [] : [{ ...event, ...submitted, ...quotedOf(submitted) }]
  })
}

/** What is quoted of a message whose body is stored compressed. */
function quotedOf({ submitted, compressed }: SubmittedRow): Partial<Submitted> {
  const raw = compressed === null ? null : (decompressBody(compressed)?.raw ?? null)
  if (raw === null) return {}
  return { original: raw.subarray(0, submitted.ret === 'FULL' ? MAX_QUOTED : MAX_HEADER), octets: raw.length }
}

/** The NOTIFY keyword (RFC 3461 4.1) that each event belongs to; other events are not reported. */
const NOTIFY_BY_EVENT: Readonly<Record<string, 'FAILURE' | 'SUCCESS'>> = {
  'email.bounced': 'FAILURE',
  'email.failed': 'FAILURE',
  'email.delivered': 'SUCCESS',
}

function isRequested({ submitted, n, type }: Row): boolean {
  const notify = NOTIFY_BY_EVENT[type]
  return notify !== undefined && isReportRequested(submitted, n, notify)
}

function reportOf(row: Row, serverName: string, now: Date): Submission | null {
  const to = parseAddress(row.submitted.reportTo ?? '')
  if (!to.ok) return null
  const id = newId(now.getTime())
  const from = `mailer-daemon@${row.from.slice(row.from.lastIndexOf('@') + 1)}`
  const facts = factsOf(row, { id: hexOf(id), at: now, from, to: to.address.address, reporter: serverName })
  return {
    id,
    workspaceId: row.workspaceId,
    apiKeyId: null,
    domainId: row.domainId,
    tier: 'normal',
    from: { email: from, name: 'Mail delivery system' },
    replyTo: null,
    to: [{ email: facts.to, name: null }],
    cc: [],
    recipients: [{ address: facts.to, domain: to.address.domain, kind: 'to' }],
    subject: `${facts.action === 'failed' ? 'Undelivered' : 'Delivered'}: ${row.subject}`.slice(0, 998),
    html: null,
    text: null,
    headers: [],
    attachments: [],
    tags: [],
    metadata: null,
    trackOpens: false,
    trackClicks: false,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: now,
    quota: null,
    idempotency: { key: `delivery report ${row.id}`, bodyHash: Buffer.from(row.id), answer: '' },
    smtp: { raw: composeDeliveryReport(facts), envelope: { from: '', isReport: true, isUtf8: true } },
  }
}

function factsOf(
  row: Row,
  envelope: Pick<DeliveryReportFacts, 'id' | 'at' | 'from' | 'to' | 'reporter'>,
): DeliveryReportFacts {
  const { submitted, host, reply, code, status, attemptAt, original, octets } = row
  const isWhole = submitted.ret === 'FULL' && (octets ?? 0) <= MAX_QUOTED
  return {
    ...envelope,
    action: NOTIFY_BY_EVENT[row.type] === 'SUCCESS' ? 'relayed' : 'failed',
    recipient: row.recipient,
    orcpt: submitted.wishes?.[row.n]?.orcpt ?? null,
    envid: submitted.envid ?? null,
    subject: row.subject,
    arrivedAt: row.arrivedAt,
    reason: reasonOf(row),
    reply:
      host === null || code === null || attemptAt === null
        ? null
        : { host, status, text: [code, status, reply].filter((word) => word !== null).join(' '), at: attemptAt },
    original: original === null ? null : { octets: original, isWhole },
  }
}

function reasonOf({ data, reply }: Row): string {
  const reason = data?.['bounce_message'] ?? data?.['message'] ?? data?.['reason'] ?? reply
  return typeof reason === 'string' ? reason : ''
}
