/**
 * Reviews the hard bounces on the suppression list with the current rules. It classifies the report again if it is
 * still stored, otherwise the reply in the entry. An entry that the current rules would not create was a mistake, and
 * so is one whose rule today requires more bounces than it had. A report that cannot be parsed proves nothing: then the
 * reply counts.
 * Manual entries, complaints and imports are not reviewed. The review reads slices by address, so the list may have any
 * length. It does not remove an entry that has changed in the meantime. A command reviews the whole list; the inbound
 * role executes what the API requests, a slice a round, and parses in a thread, because reports may be hostile.
 */
import type { Context } from '#src/context.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { BOUNCE_RULES, bounceRuleFor } from '#src/suppression/bounce-rules.ts'
import { recordRemovals } from '#src/suppression/suppress.ts'
import {
  claimReview,
  LIST_START,
  lockReview,
  storeReviewedSlice,
  storeReviewLength,
  type ReviewPlace,
  type WrongSuppression,
} from '#src/suppression/suppression-reviews.ts'
import { classifyReply } from '#mta/classify/reply.ts'
import { parseReport, type ParsedReport } from '#mta/classify/report.ts'
import { bounceDetailsOf } from './report-evaluation.ts'
import type { ReportParser } from './report-parser.ts'

interface SuppressionRow {
  readonly workspaceId: string
  readonly address: string
  readonly rule: string
  readonly code: number | null
  readonly status: string | null
  readonly text: string | null
  readonly raw: Buffer | null
  /** When the entry was written: it identifies what was reviewed. */
  readonly version: string
}

/** A wrong entry as it was read. */
interface ReviewedSuppression {
  readonly entry: WrongSuppression
  readonly version: string
}

interface Slice {
  readonly seen: number
  readonly wrong: readonly ReviewedSuppression[]
  readonly next: ReviewPlace | null
}

/** The audit log has each entry of a statement with up to 100 rows (migrations/035-audit-log.ts). */
const SLICE = 100
const REVIEWED = `s.kind = 'hard_bounce' AND s.rule IS NOT NULL`
const SELECT_SLICE = sql`
  SELECT s.workspace_id AS "workspaceId", s.address, s.rule, s.reply_code AS code, s.reply_status AS status,
    s.reply_text AS text, s.updated_at::text AS version,
    (SELECT r.raw FROM inbound_reports r WHERE r.event_id = s.event_id) AS raw
  FROM suppressions s
  WHERE ${REVIEWED} AND (s.workspace_id, s.address) > ($1::uuid, $2::text)
  ORDER BY s.workspace_id, s.address
  LIMIT ${SLICE}
`

const DELETE_WRONG = sql`
  DELETE FROM suppressions s
  USING unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS i (workspace_id, address, rule, version)
  WHERE s.workspace_id = i.workspace_id
    AND s.address = i.address
    AND s.kind = 'hard_bounce'
    AND s.rule = i.rule
    AND s.updated_at = i.version::timestamptz
  RETURNING s.workspace_id AS "workspaceId", s.address
`

/** Yields the entries that the current rules would not create; with `isRemoving` those that it has removed. */
export async function* reviewSuppressions(db: Db, isRemoving: boolean): AsyncGenerator<readonly WrongSuppression[]> {
  for (let place: ReviewPlace | null = LIST_START; place !== null;) {
    const slice: Slice = await reviewSlice(db, place, (mails) => Promise.resolve(mails.map((raw) => parseReport(raw))))
    const wrong = isRemoving
      ? await db.transaction((tx) => removeWrong(tx, slice.wrong))
      : slice.wrong.map(({ entry }) => entry)
    if (wrong.length > 0) yield wrong
    place = slice.next
  }
}

/** Reviews the next slice that a request of the API waits for. False when there is no request. */
export async function continueReview({ db }: Pick<Context, 'db'>, parser: ReportParser): Promise<boolean> {
  const claimed = await claimReview(db)
  if (claimed === null) return false
  if (claimed.total === null) await storeReviewLength(db, claimed, await countReviewed(db))
  const { seen, wrong, next } = await reviewSlice(db, claimed.place, (mails) => parser.parse(mails))
  const attributed = claimed.actor === null ? db : db.attributedTo(claimed.actor)
  await attributed.transaction(async (tx) => {
    if (!(await lockReview(tx, claimed))) return
    const entries = claimed.isLifting ? await removeWrong(tx, wrong) : wrong.map(({ entry }) => entry)
    await storeReviewedSlice(tx, claimed, { seen, wrong: entries, next })
  })
  return true
}

async function countReviewed(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ n: number }>(`SELECT count(*) AS n FROM suppressions s WHERE ${REVIEWED}`)
  return rows[0]?.n ?? 0
}

async function reviewSlice(db: Queryable, place: ReviewPlace, parse: ReportParser['parse']): Promise<Slice> {
  const { rows } = await db.query<SuppressionRow>(SELECT_SLICE, place)
  const stored = rows.flatMap((row) => (row.raw === null ? [] : [{ row, raw: row.raw }]))
  const parsed = await parse(stored.map(({ raw }) => raw))
  const reports = new Map(stored.map(({ row }, i) => [row, parsed[i] ?? null]))
  const last = rows.at(-1)
  return {
    seen: rows.length,
    wrong: rows.flatMap((row) => checkSuppression(row, reports.get(row) ?? null)),
    next: last === undefined || rows.length < SLICE ? null : [last.workspaceId, last.address],
  }
}

/** Removes the entries that have not changed since they were read, and returns those. */
async function removeWrong(tx: Queryable, wrong: readonly ReviewedSuppression[]): Promise<WrongSuppression[]> {
  if (wrong.length === 0) return []
  const columns = columnsOf(wrong, [
    ({ entry }) => entry.workspaceId,
    ({ entry }) => entry.address,
    ({ entry }) => entry.rule,
    ({ version }) => version,
  ])
  const { rows } = await tx.query<Pick<WrongSuppression, 'workspaceId' | 'address'>>(DELETE_WRONG, columns)
  const keys = new Set(rows.map(keyOf))
  const removed = wrong.map(({ entry }) => entry).filter((entry) => keys.has(keyOf(entry)))
  for (const [workspaceId, entries] of Map.groupBy(removed, (entry) => entry.workspaceId))
    await recordRemovals(
      tx,
      workspaceId,
      entries.map((entry) => ({ address: entry.address, reason: reasonOf(entry) })),
    )
  return removed
}

function keyOf({ workspaceId, address }: Pick<WrongSuppression, 'workspaceId' | 'address'>): string {
  return `${workspaceId} ${address}`
}

function reasonOf({ rule, reading }: WrongSuppression): string {
  return `review of suppressions: the rule ${rule} added it, today's rules read the bounce as ${reading}`
}

function checkSuppression(row: SuppressionRow, report: ParsedReport | null): ReviewedSuppression[] {
  const { workspaceId, address, rule, code, status, text, version } = row
  const { isHard, reason } = report === null ? reclassifyReply(row) : reclassifyReport(report, address)
  const today = isHard ? bounceRuleFor(reason, status) : null
  if (today !== null && BOUNCE_RULES[today].proofs <= proofsOf(rule)) return []
  const reply = [code, status, text].filter(Boolean).join(' ')
  return [{ entry: { workspaceId, address, rule, reply, reading: reason }, version }]
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

function reclassifyReport(report: ParsedReport, address: string): Reclassification {
  const details = bounceDetailsOf(report, address)
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
