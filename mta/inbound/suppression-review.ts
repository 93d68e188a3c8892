/**
 * Reviews the hard bounces on the suppression list with the current rules. It classifies the report again if it is
 * still stored, otherwise the reply in the entry. An entry that the current rules would not create was a mistake, and
 * so is one whose rule today requires more bounces than it had.
 * Manual entries, complaints and imports are not reviewed. The review reads slices by address, so the list may have any
 * length. It does not remove an entry that has changed in the meantime.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { BOUNCE_RULES, bounceRuleFor } from '#src/suppression/bounce-rules.ts'
import { classifyReply } from '#mta/classify/reply.ts'
import { parseReport } from '#mta/classify/report.ts'
import { bounceDetailsOf } from './report-evaluation.ts'

export interface WrongSuppression {
  readonly workspaceId: string
  readonly address: string
  /** The rule that created the entry. */
  readonly rule: string
  readonly reply: string
  /** The class by the current rules. */
  readonly reading: string
}

interface SuppressionRow {
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
const SELECT_SLICE = sql`
  SELECT s.workspace_id AS "workspaceId", s.address, s.rule, s.reply_code AS code, s.reply_status AS status,
    s.reply_text AS text, s.event_id AS "eventId",
    (SELECT r.raw FROM inbound_reports r WHERE r.event_id = s.event_id) AS raw
  FROM suppressions s
  WHERE s.kind = 'hard_bounce' AND s.rule IS NOT NULL AND (s.workspace_id, s.address) > ($1::uuid, $2::text)
  ORDER BY s.workspace_id, s.address
  LIMIT ${SLICE}
`

const DELETE_WRONG = sql`
  DELETE FROM suppressions s
  USING unnest($1::uuid[], $2::text[], $3::text[]) AS i (workspace_id, address, rule)
  WHERE s.workspace_id = i.workspace_id AND s.address = i.address AND s.kind = 'hard_bounce' AND s.rule = i.rule
`

/** Yields the entries that the current rules would not create; with `isRemoving` also deletes them. */
export async function* reviewSuppressions(db: Db, isRemoving: boolean): AsyncGenerator<readonly WrongSuppression[]> {
  for (let at = ['00000000-0000-0000-0000-000000000000', '']; ;) {
    const { rows } = await db.query<SuppressionRow>(SELECT_SLICE, at)
    const wrong = rows.flatMap(checkSuppression)
    if (isRemoving && wrong.length > 0)
      await db.query(DELETE_WRONG, columnsOf(wrong, [(d) => d.workspaceId, (d) => d.address, (d) => d.rule]))
    if (wrong.length > 0) yield wrong
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE) return
    at = [last.workspaceId, last.address]
  }
}

function checkSuppression(row: SuppressionRow): WrongSuppression[] {
  const { workspaceId, address, rule, code, status, text } = row
  const { isHard, reason } = row.raw === null ? reclassifyReply(row) : reclassifyReport(row.raw, address)
  const today = isHard ? bounceRuleFor(reason, status) : null
  if (today !== null && BOUNCE_RULES[today].proofs <= proofsOf(rule)) return []
  return [{ workspaceId, address, rule, reply: [code, status, text].filter(Boolean).join(' '), reading: reason }]
}

/** The proofs that the rule of an entry required. */
function proofsOf(rule: string): number {
  const [name = ''] = rule.split('@')
  return Object.entries(BOUNCE_RULES).find(([known]) => known === name)?.[1].proofs ?? 1
}

interface Reclassification {
  readonly isHard: boolean
  readonly reason: string
}

function reclassifyReport(raw: Buffer, address: string): Reclassification {
  const details = bounceDetailsOf(parseReport(raw), address)
  return { isHard: details.hard, reason: details.class }
}

/** Rules that DNS answers triggered: no text to classify again. */
const BY_DNS: readonly string[] = ['null-mx', 'no-host']

function reclassifyReply({ address, rule, code, status, text }: SuppressionRow): Reclassification {
  const [name = ''] = rule.split('@')
  if (BY_DNS.includes(name) || name === 'forward-broken') return { isHard: true, reason: name }
  const outcome = classifyReply(
    'rcpt',
    { code: Math.max(code ?? 550, 500), enhanced: status, text: text ?? '', lines: [] },
    address,
  )
  return outcome.kind === 'bounced'
    ? { isHard: outcome.isHard, reason: outcome.reason }
    : { isHard: false, reason: 'unknown' }
}
