/**
 * Carries out what reports say, a batch in one transaction: read, judged, moved, told, suppressed, and marked as done. Two processes skip
 * each other's reports. Dies before the commit: all of it comes again, and nothing was done. The same report again, or another of the same
 * thing, changes nothing: moves are guarded by the state, and events of this kind are once for each recipient.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { announce, type News } from '#src/queue/notifications.ts'
import { countComplaints } from '#src/egress/warm-up-days.ts'
import { newId } from '#src/platform/id.ts'
import { moveRecipients } from '#src/messages/transition.ts'
import { raiseRecipientEvents } from '#src/messages/recipient-events.ts'
import { sql } from '#src/stores/sql.ts'
import { condemn } from '#src/suppression/suppress-hard-bounces.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { addCounts } from '#src/workspaces/rates.ts'
import { isPlayed } from '#mta/sandbox/simulators.ts'
import { appliedOf, type Case, countOf, eventOf, movingOf, refusedOf, type Subject, wishOf } from './report-effects.ts'
import type { Reader } from './reader.ts'
import type { RecentRaws } from './recent-report-bytes.ts'
import { type Applied, type DueReport, lockDue, writeApplied } from './report-store.ts'
import { judge, type Result } from './report-meaning.ts'

const MOST = 128

export interface Applying {
  readonly reader: Reader
  readonly recent: RecentRaws
  /** Told of each report once it is committed. */
  readonly count: (kind: string, result: Result) => void
}

/** Reads and applies what is due. True when there may be more. */
export async function applyDue(ctx: Context, { reader, recent, count }: Applying): Promise<boolean> {
  const now = new Date(ctx.clock.now())
  const done = await ctx.db.transaction(async (tx) => {
    const due = await lockDue(tx, recent, { now, most: MOST })
    // one of each recipient: the others come in the next round, and see what this one changed
    const first = [...new Map(due.toReversed().map((one) => [keyOf(one), one])).values()].toReversed()
    const reports = await reader.read(first.map(({ raw }) => raw))
    const subjects = await loadSubjects(tx, first)
    const cases = first.map((one, i): Case => {
      const [report = null, subject = null] = [reports[i], subjects.get(keyOf(one))]
      return { due: one, report, subject, verdict: judge(report, subject, one.tries), eventId: newId(now.getTime()) }
    })
    return { ...(await carryOut(ctx, tx, cases, now)), cases, isMore: due.length === MOST || due.length > first.length }
  })
  for (const news of done.news) announce(ctx, news)
  for (const [i, { due, subject }] of done.cases.entries()) {
    const { kind, result } = done.applied[i] as Applied
    count(kind, result)
    ctx.log.info(
      { id: due.messageId, n: due.n, to: subject?.address, report: due.id, kind, result },
      'a report was read',
    )
  }
  return done.isMore
}

function keyOf({ messageId, n }: { readonly messageId: string; readonly n: number }): string {
  return `${messageId} ${n}`
}

const SUBJECTS = prepared(
  'inbound-subjects',
  sql`
    SELECT r.message_id AS "messageId", r.n, r.workspace_id AS "workspaceId", r.address, r.domain, r.state,
      (
        SELECT a.host
        FROM attempts a
        WHERE a.message_id = r.message_id AND a.n = r.n
        ORDER BY a.attempt DESC
        LIMIT 1
      ) AS host
    FROM unnest($1::uuid[], $2::smallint[]) AS i (message_id, n)
    JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n
  `,
)

async function loadSubjects(tx: Queryable, due: readonly DueReport[]): Promise<ReadonlyMap<string, Subject>> {
  const { rows } = await tx.query<Subject>(SUBJECTS, columnsOf(due, [(d) => d.messageId, (d) => d.n]))
  return new Map(rows.map((row) => [keyOf(row), row]))
}

/** Deliveries are counted by the process that made them. */
const NONE = new Map<string, never>()

interface Done {
  readonly news: readonly News[]
  /** One for each case. */
  readonly applied: readonly Applied[]
}

async function carryOut(ctx: Context, tx: Queryable, cases: readonly Case[], now: Date): Promise<Done> {
  if (cases.length === 0) return { news: [], applied: [] }
  const moves = cases.map(movingOf)
  const moving = moves.filter((one) => one !== null)
  const moved = await moveRecipients(tx, moving, now)
  const hasMoved = new Set(moving.filter((_, i) => moved.done.has(i)).map(keyOf))
  const raised = await raiseRecipientEvents(tx, cases.flatMap(eventOf), now)
  const isListed = ({ address }: { readonly address: string }): boolean => !isPlayed(ctx.config, address)
  const refused = cases.flatMap((one) => (hasMoved.has(keyOf(one.due)) ? refusedOf(one) : [])).filter(isListed)
  await condemn(tx, { refused, deliveries: NONE }, now)
  await suppress(tx, cases.flatMap((one) => (raised.raised.has(one.eventId) ? wishOf(one) : [])).filter(isListed), now)
  const complaints = cases.filter(({ verdict, eventId }) => verdict.kind === 'complaint' && raised.raised.has(eventId))
  await countComplaints(
    tx,
    complaints.map(({ due }) => due),
  )
  const counts = cases.flatMap((one) =>
    countOf(one, { isMoved: hasMoved.has(keyOf(one.due)), isRaised: raised.raised.has(one.eventId) }),
  )
  await addCounts(tx, counts, now)
  const applied = cases.map((one) => appliedOf(one, { hasMoved, raised, now }))
  await writeApplied(tx, applied)
  return { news: [moved, raised], applied }
}
