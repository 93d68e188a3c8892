/**
 * Looks again at what hard bounces have put on the suppression list, with the rules of today: the report, where it is still stored, else
 * the reply that the entry keeps. What would not be suppressed now was suppressed wrongly. Entries by hand, complaints and imports are not
 * looked at. In slices by address, so that a list of any length is reviewed; an entry that changed meanwhile is left alone.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { ruleFor } from '#src/suppression/bounce-rules.ts'
import { classifyReply } from '#mta/classify/reply.ts'
import { readReport } from '#mta/classify/report.ts'
import { factsOf } from './report-meaning.ts'

export interface Doubtful {
  readonly workspaceId: string
  readonly address: string
  /** That put it there. */
  readonly rule: string
  readonly reply: string
  /** What it is read as now. */
  readonly reading: string
}

interface Row {
  readonly workspaceId: string
  readonly address: string
  readonly rule: string
  readonly code: number | null
  readonly status: string | null
  readonly text: string | null
  readonly eventId: string | null
  readonly raw: Buffer | null
}

const SLICE = 200
const READ = sql`
  SELECT s.workspace_id AS "workspaceId", s.address, s.rule, s.reply_code AS code, s.reply_status AS status,
    s.reply_text AS text, s.event_id AS "eventId",
    (SELECT r.raw FROM inbound_reports r WHERE r.event_id = s.event_id) AS raw
  FROM suppressions s
  WHERE s.kind = 'hard_bounce' AND s.rule IS NOT NULL AND (s.workspace_id, s.address) > ($1::uuid, $2::text)
  ORDER BY s.workspace_id, s.address
  LIMIT ${SLICE}
`

const LIFT = sql`
  DELETE FROM suppressions s
  USING unnest($1::uuid[], $2::text[], $3::text[]) AS i (workspace_id, address, rule)
  WHERE s.workspace_id = i.workspace_id AND s.address = i.address AND s.kind = 'hard_bounce' AND s.rule = i.rule
`

/** Those that would not be suppressed now; with `isLifting` they are taken off the list. */
export async function* review(db: Db, isLifting: boolean): AsyncGenerator<readonly Doubtful[]> {
  for (let at = ['00000000-0000-0000-0000-000000000000', '']; ;) {
    const { rows } = await db.query<Row>(READ, at)
    const doubtful = rows.flatMap(doubt)
    if (isLifting && doubtful.length > 0)
      await db.query(LIFT, columnsOf(doubtful, [(d) => d.workspaceId, (d) => d.address, (d) => d.rule]))
    if (doubtful.length > 0) yield doubtful
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE) return
    at = [last.workspaceId, last.address]
  }
}

function doubt(row: Row): Doubtful[] {
  const { workspaceId, address, rule, code, status, text } = row
  const { isHard, reading } = row.raw === null ? readReplyAgain(row) : readReportAgain(row.raw, address)
  if (isHard && ruleFor(reading, status) !== null) return []
  return [{ workspaceId, address, rule, reply: [code, status, text].filter(Boolean).join(' '), reading }]
}

interface Again {
  readonly isHard: boolean
  readonly reading: string
}

function readReportAgain(raw: Buffer, address: string): Again {
  const facts = factsOf(readReport(raw), address)
  return { isHard: facts.hard, reading: facts.class }
}

/** What DNS said is not read from words: it stays as it is. */
const BY_DNS: readonly string[] = ['null-mx', 'no-host']

function readReplyAgain({ address, rule, code, status, text }: Row): Again {
  const [name = ''] = rule.split('@')
  if (BY_DNS.includes(name) || name === 'forward-broken') return { isHard: true, reading: name }
  const outcome = classifyReply(
    'rcpt',
    { code: Math.max(code ?? 550, 500), enhanced: status, text: text ?? '', lines: [] },
    address,
  )
  return outcome.kind === 'bounced'
    ? { isHard: outcome.isHard, reading: outcome.reason }
    : { isHard: false, reading: 'unknown' }
}
