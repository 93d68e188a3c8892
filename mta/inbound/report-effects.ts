/**
 * What follows from a report, piece by piece: the move, the event, the entry of the suppression list, the counts, and the line that is kept
 * with the report. Pure; report-processor.ts writes them.
 */
import type { Moving } from '#src/messages/transition.ts'
import type { Raised, RecipientEvent } from '#src/messages/recipient-events.ts'
import type { State } from '#src/messages/state.ts'
import type { Suppressing } from '#src/suppression/cause.ts'
import type { Refused } from '#src/suppression/suppress-hard-bounces.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { WorkspaceCounts } from '#src/workspaces/rates.ts'
import type { Report } from '#mta/classify/report.ts'
import { type Applied, type DueReport, plain } from './report-store.ts'
import type { Facts, Result, Verdict } from './report-meaning.ts'

/** Between two looks at a recipient that is being sent to: longer each time. 60 of them last longer than any conversation. */
const WAIT_MS = 2000
const LONGEST_WAIT_MS = 60_000
const MAX_TEXT = 1000

export interface Subject {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly address: string
  readonly domain: string
  readonly state: State
  readonly host: string | null
}

/** A report and what is to be done about it. */
export interface Case {
  readonly due: DueReport
  readonly report: Report | null
  readonly subject: Subject | null
  readonly verdict: Verdict
  readonly eventId: string
}

export function movingOf({ due, verdict, eventId }: Case): Moving | null {
  if (verdict.kind !== 'bounce' && verdict.kind !== 'confirm') return null
  const base = {
    messageId: due.messageId,
    n: due.n,
    lease: null,
    dueAt: null,
    isCounted: false,
    attempt: null,
    eventId,
  }
  if (verdict.kind === 'confirm') {
    return { ...base, move: 'confirm', reason: 'the receiver reported that it arrived', eventData: { reported: true } }
  }
  const { facts } = verdict
  return { ...base, move: 'late_bounce', reason: messageOf(facts), eventData: bounceData(facts) }
}

/** The same fields as of a bounce in the conversation (src/messages/transition-for-outcome.ts). */
function bounceData(facts: Facts): object {
  return {
    bounce_type: facts.hard ? 'hard' : 'soft',
    bounce_class: facts.class,
    bounce_scope: 'recipient',
    bounce_code: facts.status ?? codeIn(facts)?.toString() ?? null,
    bounce_message: messageOf(facts),
    late: true,
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

export function eventOf({ due, verdict, eventId }: Case): RecipientEvent[] {
  if (verdict.kind !== 'complaint' && verdict.kind !== 'opt-out') return []
  return [
    {
      id: eventId,
      messageId: due.messageId,
      n: due.n,
      type: EVENTS[verdict.kind],
      data: { feedback_type: verdict.feedbackType },
    },
  ]
}

export function refusedOf({ verdict, subject, eventId }: Case): Refused[] {
  if (verdict.kind !== 'bounce' || !verdict.facts.hard || subject === null) return []
  const { facts } = verdict
  return [
    {
      workspaceId: subject.workspaceId,
      address: subject.address,
      receiver: receiverOf(subject.host, subject.domain),
      class: facts.class,
      reply: { code: codeIn(facts), status: facts.status, text: messageOf(facts) },
      eventId,
      messageId: subject.messageId,
    },
  ]
}

/** What came of a report: neither when it was known before. */
interface Done {
  readonly isMoved: boolean
  readonly isRaised: boolean
}

/** For the rates of its workspace; of one workspace several in a batch are added up. */
export function countOf({ verdict, subject }: Case, { isMoved, isRaised }: Done): WorkspaceCounts[] {
  if (subject === null) return []
  const [hard, complaints] = [
    isMoved && verdict.kind === 'bounce' && verdict.facts.hard,
    isRaised && verdict.kind === 'complaint',
  ]
  // what came back was counted as delivered
  if (!hard && !complaints) return []
  return [
    { workspaceId: subject.workspaceId, delivered: hard ? -1 : 0, hard: hard ? 1 : 0, complaints: complaints ? 1 : 0 },
  ]
}

const KINDS = { complaint: 'complaint', 'opt-out': 'unsubscribe' } as const

/** Whoever complains, or wants no more, is suppressed at once. */
export function wishOf({ verdict, subject, eventId }: Case): Suppressing[] {
  if ((verdict.kind !== 'complaint' && verdict.kind !== 'opt-out') || subject === null) return []
  const { workspaceId, address, messageId } = subject
  return [
    {
      workspaceId,
      address,
      kind: KINDS[verdict.kind],
      reason: `${verdict.kind} (${verdict.feedbackType})`,
      eventId,
      messageId,
    },
  ]
}

interface Changes {
  readonly hasMoved: ReadonlySet<string>
  readonly raised: Raised
  readonly now: Date
}

export function appliedOf(one: Case, { hasMoved, raised, now }: Changes): Applied {
  const { due, report, verdict, eventId } = one
  const isDone = hasMoved.has(`${due.messageId} ${due.n}`) || raised.raised.has(eventId)
  const result = resultOf(verdict, isDone)
  const facts = 'facts' in verdict ? verdict.facts : null
  return {
    id: due.id,
    kind: report?.kind ?? 'other',
    facts: facts === null ? null : plainFacts(facts),
    result,
    eventId: isDone ? eventId : null,
    dueAt: result === 'waits' ? new Date(now.getTime() + Math.min(LONGEST_WAIT_MS, WAIT_MS * (due.tries + 1))) : null,
  }
}

const DONE: Readonly<Record<Exclude<Verdict['kind'], 'nothing'>, Result>> = {
  bounce: 'bounced',
  confirm: 'delivered',
  complaint: 'complained',
  'opt-out': 'unsubscribed',
}

function resultOf(verdict: Verdict, isDone: boolean): Result {
  if (verdict.kind === 'nothing') return verdict.result
  return isDone ? DONE[verdict.kind] : 'repeated'
}

function plainFacts(facts: Facts): Facts {
  return {
    ...facts,
    address: facts.address === null ? null : plain(facts.address).slice(0, MAX_TEXT),
    diagnostic: messageOf(facts),
  }
}
