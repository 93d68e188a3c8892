/**
 * Applies due reports, one batch in one transaction: parses and evaluates them, changes states, raises events, updates
 * the suppression list and records the results. Concurrent processes skip each other's locked reports. A crash before
 * the commit changes nothing, and the batch is processed again. A repeated report, or a second report of the same
 * event, changes nothing: the state guards each transition, and these events are unique per recipient.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { publishNotifications, type CommitNotifications } from '#src/queue/notifications.ts'
import { countComplaints } from '#src/egress/warm-up-days.ts'
import { newId } from '#src/platform/id.ts'
import { applyTransitions } from '#src/messages/transition.ts'
import { raiseRecipientEvents } from '#src/messages/recipient-events.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly } from '#src/stores/weeks.ts'
import { suppressHardBounces } from '#src/suppression/suppress-hard-bounces.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { addCounts } from '#src/workspaces/rates.ts'
import { isSimulatedOutcome } from '#mta/sandbox/simulators.ts'
import {
  appliedReportOf,
  type ReportCase,
  workspaceCountsOf,
  recipientEventOf,
  transitionOf,
  hardBounceOf,
  type ReportSubject,
  suppressionOf,
} from './report-effects.ts'
import type { ReportParser } from './report-parser.ts'
import type { RecentReportCache } from './recent-report-cache.ts'
import { type AppliedReport, type DueReport, lockDueReports, recordApplied } from './report-store.ts'
import { evaluateReport, type ReportEffect, type ReportResult } from './report-evaluation.ts'

const BATCH_SIZE = 128

export interface ReportProcessorDeps {
  readonly parser: ReportParser
  readonly recent: RecentReportCache
  /** Counts each report after the commit. */
  readonly count: (kind: string, result: ReportResult, effect: ReportEffect) => void
}

/** Processes one batch of due reports. Returns true if more may be due. */
export async function applyDueReports(ctx: Context, { parser, recent, count }: ReportProcessorDeps): Promise<boolean> {
  const now = new Date(ctx.clock.now())
  const done = await ctx.db.transaction(async (tx) => {
    const due = await lockDueReports(tx, recent, { now, limit: BATCH_SIZE })
    // one report per recipient; the next round evaluates the others against the changed state
    const first = [...new Map(due.toReversed().map((one) => [keyOf(one), one])).values()].toReversed()
    const reports = await parser.parse(first.map(({ raw }) => raw))
    const subjects = await loadSubjects(tx, first)
    const cases = first.map((one, i): ReportCase => {
      const [report = null, subject = null] = [reports[i], subjects.get(keyOf(one))]
      const effect = evaluateReport(report, subject, one.tries)
      return { due: one, report, subject, effect, eventId: newId(now.getTime()) }
    })
    const isMore = due.length === BATCH_SIZE || due.length > first.length
    return { ...(await applyEffects(ctx, tx, cases, now)), cases, isMore }
  })
  for (const news of done.news) publishNotifications(ctx, news)
  for (const [i, { due, subject, effect }] of done.cases.entries()) {
    const { kind, result } = done.applied[i] as AppliedReport
    count(kind, result, effect)
    ctx.log.info(
      { id: due.messageId, n: due.n, to: subject?.address, report: due.id, kind, result },
      'inbound report processed',
    )
  }
  return done.isMore
}

function keyOf({ messageId, n }: { readonly messageId: string; readonly n: number }): string {
  return `${messageId} ${n}`
}

const SELECT_SUBJECTS = weekly(
  'inbound-subjects',
  (weeks) => sql`
    SELECT r.message_id AS "messageId", r.n, r.workspace_id AS "workspaceId", r.address, r.domain, r.state,
      (
        SELECT a.host
        FROM attempts a
        WHERE a.message_id = r.message_id AND a.n = r.n AND ${weeks.contain('a.message_id')}
        ORDER BY a.attempt DESC
        LIMIT 1
      ) AS host
    FROM unnest($1::uuid[], $2::smallint[]) AS i (message_id, n)
    JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n AND ${weeks.contain('r.message_id')}
    WHERE ${expectOneRow('i.n')}
  `,
)

async function loadSubjects(tx: Queryable, due: readonly DueReport[]): Promise<ReadonlyMap<string, ReportSubject>> {
  const { rows } = await tx.query<ReportSubject>(
    SELECT_SUBJECTS.for(due.map(({ messageId }) => messageId)),
    columnsOf(due, [(d) => d.messageId, (d) => d.n]),
  )
  return new Map(rows.map((row) => [keyOf(row), row]))
}

/** The process that made a delivery counts it. */
const NO_DELIVERIES = new Map<string, never>()

interface BatchOutcome {
  readonly news: readonly CommitNotifications[]
  /** One for each case. */
  readonly applied: readonly AppliedReport[]
}

async function applyEffects(
  ctx: Context,
  tx: Queryable,
  cases: readonly ReportCase[],
  now: Date,
): Promise<BatchOutcome> {
  if (cases.length === 0) return { news: [], applied: [] }
  const moves = cases.map(transitionOf)
  const moving = moves.filter((one) => one !== null)
  const moved = await applyTransitions(tx, moving, now)
  const hasMoved = new Set(moving.filter((_, i) => moved.done.has(i)).map(keyOf))
  const raised = await raiseRecipientEvents(tx, cases.flatMap(recipientEventOf), now)
  const maySuppress = ({ address }: { readonly address: string }): boolean => !isSimulatedOutcome(ctx.config, address)
  const bounced = cases.filter((one) => hasMoved.has(keyOf(one.due)))
  const hardBounces = bounced.flatMap(hardBounceOf).filter(maySuppress)
  await suppressHardBounces(tx, { hardBounces, deliveries: NO_DELIVERIES }, now)
  const withEvent = cases.filter((one) => raised.raised.has(one.eventId))
  await suppress(tx, withEvent.flatMap(suppressionOf).filter(maySuppress), now)
  const complaints = withEvent.filter(({ effect }) => effect.kind === 'complaint')
  await countComplaints(
    tx,
    complaints.map(({ due }) => due),
  )
  const counts = cases.flatMap((one) =>
    workspaceCountsOf(one, { hasMoved: hasMoved.has(keyOf(one.due)), hasRaisedEvent: raised.raised.has(one.eventId) }),
  )
  await addCounts(tx, counts, now)
  const applied = cases.map((one) => appliedReportOf(one, { hasMoved, raised, now }))
  await recordApplied(tx, applied)
  return { news: [moved, raised], applied }
}
