/**
 * Carries out what reports say, a batch in one transaction: read, judged, moved, told, suppressed, and marked as done. Two processes skip
 * each other's reports. Dies before the commit: all of it comes again, and nothing was done. The same report again, or another of the same
 * thing, changes nothing: moves are guarded by the state, and events of this kind are once for each recipient.
 */
import { columnsOf } from '#src/columns.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/db.ts'
import { announce, type News } from '#src/events/news.ts'
import { countComplaints } from '#src/egress/days.ts'
import { newId } from '#src/id.ts'
import { moveRecipients, type Moving } from '#src/messages/move.ts'
import { raiseRecipientEvents, type Raised, type RecipientEvent } from '#src/messages/recipient-events.ts'
import type { State } from '#src/messages/state.ts'
import type { Suppressing } from '#src/suppression/cause.ts'
import { condemn, type Refused } from '#src/suppression/condemn.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { addCounts, type WorkspaceCounts } from '#src/workspaces/rates.ts'
import type { Report } from '#mta/classify/report.ts'
import { isSimulator } from '#mta/sandbox/simulators.ts'
import type { Reader } from './reader.ts'
import { type Applied, type DueReport, lockDue, plain, writeApplied } from './store.ts'
import { type Facts, judge, type Result, type Verdict } from './verdict.ts'

const MOST = 64
const WAIT_MS = 2000
const MAX_TEXT = 1000

interface Subject {
  readonly messageId: string; readonly n: number; readonly workspaceId: string; readonly address: string; readonly domain: string
  readonly state: State; readonly host: string | null
}

/** A report and what is to be done about it. */
interface Case {
  readonly due: DueReport
  readonly report: Report | null
  readonly subject: Subject | null
  readonly verdict: Verdict
  readonly eventId: string
}

/** Reads and applies what is due. True when there may be more. */
export async function applyDue(ctx: Context, reader: Reader): Promise<boolean> {
  const now = new Date(ctx.clock.now())
  const done = await ctx.db.transaction(async (tx) => {
    const due = await lockDue(tx, now, MOST)
    // one of each recipient: the others come in the next round, and see what this one changed
    const first = [...new Map(due.toReversed().map((one) => [keyOf(one), one])).values()].toReversed()
    const reports = await reader.read(first.map(({ raw }) => raw))
    const subjects = await loadSubjects(tx, first)
    const cases = first.map((one, i): Case => {
      const [report = null, subject = null] = [reports[i], subjects.get(keyOf(one))]
      return { due: one, report, subject, verdict: judge(report, subject, one.tries), eventId: newId(now.getTime()) }
    })
    return { news: await carryOut(ctx, tx, cases, now), cases, isMore: due.length === MOST || due.length > first.length }
  })
  for (const news of done.news) announce(ctx, news)
  for (const { due, report, subject, verdict } of done.cases) {
    const result = verdict.kind === 'nothing' ? verdict.result : verdict.kind
    ctx.log.info({ id: due.messageId, n: due.n, to: subject?.address, report: due.id, kind: report?.kind, result }, 'a report was read')
  }
  return done.isMore
}

function keyOf({ messageId, n }: { readonly messageId: string; readonly n: number }): string {
  return `${messageId} ${n}`
}

const SUBJECTS = prepared('inbound-subjects', `
SELECT r.message_id AS "messageId", r.n, r.workspace_id AS "workspaceId", r.address, r.domain, r.state, (
  SELECT a.host FROM attempts a WHERE a.message_id = r.message_id AND a.n = r.n ORDER BY a.attempt DESC LIMIT 1) AS host
FROM unnest($1::uuid[], $2::smallint[]) AS i (message_id, n) JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n`)

async function loadSubjects(tx: Queryable, due: readonly DueReport[]): Promise<ReadonlyMap<string, Subject>> {
  const { rows } = await tx.query<Subject>(SUBJECTS, columnsOf(due, [(d) => d.messageId, (d) => d.n]))
  return new Map(rows.map((row) => [keyOf(row), row]))
}

/** Deliveries are counted by the process that made them. */
const NONE = new Map<string, never>()

async function carryOut(ctx: Context, tx: Queryable, cases: readonly Case[], now: Date): Promise<readonly News[]> {
  if (cases.length === 0) return []
  const moves = cases.map(movingOf)
  const moving = moves.filter((one) => one !== null)
  const moved = await moveRecipients(tx, moving, now)
  const hasMoved = new Set(moving.filter((_, i) => moved.done.has(i)).map(keyOf))
  const raised = await raiseRecipientEvents(tx, cases.flatMap(eventOf), now)
  const isListed = ({ address }: { readonly address: string }): boolean => !ctx.config.isSandbox || !isSimulator(address)
  const refused = cases.flatMap((one) => hasMoved.has(keyOf(one.due)) ? refusedOf(one) : []).filter(isListed)
  await condemn(tx, { refused, deliveries: NONE }, now)
  await suppress(tx, cases.flatMap((one) => raised.raised.has(one.eventId) ? wishOf(one) : []).filter(isListed), now)
  await countComplaints(tx, cases.filter(({ verdict, eventId }) => verdict.kind === 'complaint' && raised.raised.has(eventId)).map(({ due }) => due))
  await addCounts(tx, cases.flatMap((one) => countOf(one, { isMoved: hasMoved.has(keyOf(one.due)), isRaised: raised.raised.has(one.eventId) })), now)
  await writeApplied(tx, cases.map((one) => appliedOf(one, { hasMoved, raised, now })))
  return [moved, raised]
}

function movingOf({ due, verdict, eventId }: Case): Moving | null {
  if (verdict.kind !== 'bounce' && verdict.kind !== 'confirm') return null
  const base = { messageId: due.messageId, n: due.n, lease: null, dueAt: null, isCounted: false, attempt: null, eventId }
  if (verdict.kind === 'confirm') {
    return { ...base, move: 'confirm', reason: 'the receiver reported that it arrived', eventData: { reported: true } }
  }
  const { facts } = verdict
  return { ...base, move: 'late_bounce', reason: messageOf(facts), eventData: bounceData(facts) }
}

/** The same fields as of a bounce in the conversation (src/messages/settle.ts). */
function bounceData(facts: Facts): object {
  return {
    bounce_type: facts.hard ? 'hard' : 'soft', bounce_class: facts.class, bounce_scope: 'recipient',
    bounce_code: facts.status ?? codeIn(facts)?.toString() ?? null, bounce_message: messageOf(facts), late: true,
  }
}

function messageOf({ diagnostic, class: failureClass }: Facts): string {
  return plain(diagnostic ?? `it came back: ${failureClass}`).slice(0, MAX_TEXT)
}

function codeIn({ diagnostic }: Facts): number | null {
  const code = /(?:^|\s)([245]\d\d)(?=[ -])/.exec(diagnostic ?? '')?.[1]
  return code === undefined ? null : Number(code)
}

const EVENTS = { complaint: 'email.complained', 'opt-out': 'email.unsubscribed' } as const

function eventOf({ due, verdict, eventId }: Case): RecipientEvent[] {
  if (verdict.kind !== 'complaint' && verdict.kind !== 'opt-out') return []
  return [{ id: eventId, messageId: due.messageId, n: due.n, type: EVENTS[verdict.kind], data: { feedback_type: verdict.feedbackType } }]
}

function refusedOf({ verdict, subject, eventId }: Case): Refused[] {
  if (verdict.kind !== 'bounce' || !verdict.facts.hard || subject === null) return []
  const { facts } = verdict
  return [{
    workspaceId: subject.workspaceId, address: subject.address, receiver: receiverOf(subject.host, subject.domain), class: facts.class,
    reply: { code: codeIn(facts), status: facts.status, text: messageOf(facts) }, eventId, messageId: subject.messageId,
  }]
}

/** For the rates of its workspace; of one workspace several in a batch are added up. */
function countOf({ verdict, subject }: Case, { isMoved, isRaised }: { readonly isMoved: boolean; readonly isRaised: boolean }): WorkspaceCounts[] {
  if (subject === null) return []
  const [hard, complaints] = [isMoved && verdict.kind === 'bounce' && verdict.facts.hard, isRaised && verdict.kind === 'complaint']
  // what came back was counted as delivered
  return hard || complaints ? [{ workspaceId: subject.workspaceId, delivered: hard ? -1 : 0, hard: hard ? 1 : 0, complaints: complaints ? 1 : 0 }] : []
}

const KINDS = { complaint: 'complaint', 'opt-out': 'unsubscribe' } as const

/** Whoever complains, or wants no more, is suppressed at once. */
function wishOf({ verdict, subject, eventId }: Case): Suppressing[] {
  if ((verdict.kind !== 'complaint' && verdict.kind !== 'opt-out') || subject === null) return []
  const { workspaceId, address, messageId } = subject
  return [{ workspaceId, address, kind: KINDS[verdict.kind], reason: `${verdict.kind} (${verdict.feedbackType})`, eventId, messageId }]
}

interface Changes {
  readonly hasMoved: ReadonlySet<string>
  readonly raised: Raised
  readonly now: Date
}

function appliedOf(one: Case, { hasMoved, raised, now }: Changes): Applied {
  const { due, report, verdict, eventId } = one
  const isDone = hasMoved.has(keyOf(due)) || raised.raised.has(eventId)
  const result = resultOf(verdict, isDone)
  const facts = 'facts' in verdict ? verdict.facts : null
  return {
    id: due.id, kind: report?.kind ?? 'other', facts: facts === null ? null : plainFacts(facts), result, eventId: isDone ? eventId : null,
    dueAt: result === 'waits' ? new Date(now.getTime() + WAIT_MS) : null,
  }
}

const DONE: Readonly<Record<Exclude<Verdict['kind'], 'nothing'>, Result>> = {
  bounce: 'bounced', confirm: 'delivered', complaint: 'complained', 'opt-out': 'unsubscribed',
}

function resultOf(verdict: Verdict, isDone: boolean): Result {
  if (verdict.kind === 'nothing') return verdict.result
  return isDone ? DONE[verdict.kind] : 'repeated'
}

function plainFacts(facts: Facts): Facts {
  return { ...facts, address: facts.address === null ? null : plain(facts.address).slice(0, MAX_TEXT), diagnostic: messageOf(facts) }
}

