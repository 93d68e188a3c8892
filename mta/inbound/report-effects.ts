/**
 * Builds the changes that a report causes: the transition, the event, the suppression list entry, the workspace counts
 * and the result stored with the report. Pure functions; report-processor.ts writes the changes.
 */
import type { Transition } from '#src/messages/transition.ts'
import type { RaisedEvents, RecipientEvent } from '#src/messages/recipient-events.ts'
import type { State } from '#src/messages/state.ts'
import type { NewSuppression } from '#src/suppression/cause.ts'
import type { HardBounce } from '#src/suppression/suppress-hard-bounces.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { WorkspaceCounts } from '#src/workspaces/rates.ts'
import type { ParsedReport } from '#mta/classify/report.ts'
import { type AppliedReport, type DueReport, replaceControlCharacters } from './report-store.ts'
import type { BounceDetails, ReportResult, ReportEffect } from './report-evaluation.ts'

/** The delay between two checks of a recipient in state `sending` grows. 60 checks outlast any SMTP session. */
const WAIT_MS = 2000
const MAX_WAIT_MS = 60_000
const MAX_TEXT = 1000

export interface ReportSubject {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly address: string
  readonly domain: string
  readonly state: State
  readonly host: string | null
}

/** A report and its effect. */
export interface ReportCase {
  readonly due: DueReport
  readonly report: ParsedReport | null
  readonly subject: ReportSubject | null
  readonly effect: ReportEffect
  readonly eventId: string
}

export function transitionOf({ due, effect, eventId }: ReportCase): Transition | null {
  if (effect.kind !== 'bounce' && effect.kind !== 'confirm') return null
  const base = {
    messageId: due.messageId,
    n: due.n,
    lease: null,
    dueAt: null,
    isCounted: false,
    attempt: null,
    eventId,
  }
  if (effect.kind === 'confirm') {
    return { ...base, move: 'confirm', reason: 'the receiver reported the delivery', eventData: { reported: true } }
  }
  const { details } = effect
  return { ...base, move: 'late_bounce', reason: bounceMessageOf(details), eventData: bounceData(details) }
}

/** The same fields as for a bounce during the SMTP session (src/messages/transition-for-outcome.ts). */
function bounceData(details: BounceDetails): object {
  return {
    bounce_type: details.hard ? 'hard' : 'soft',
    bounce_class: details.class,
    bounce_scope: 'recipient',
    bounce_code: details.status ?? findReplyCode(details)?.toString() ?? null,
    bounce_message: bounceMessageOf(details),
    late: true,
  }
}

function bounceMessageOf({ diagnostic, class: failureClass }: BounceDetails): string {
  return replaceControlCharacters(diagnostic ?? `bounced: ${failureClass}`).slice(0, MAX_TEXT)
}

function findReplyCode({ diagnostic }: BounceDetails): number | null {
  const code = /(?:^|\s)([245]\d\d)(?=[ -])/.exec(diagnostic ?? '')?.[1]
  return code === undefined ? null : Number(code)
}

const EVENT_TYPES = { complaint: 'email.complained', 'opt-out': 'email.unsubscribed' } as const

export function recipientEventOf({ due, effect, eventId }: ReportCase): RecipientEvent[] {
  if (effect.kind !== 'complaint' && effect.kind !== 'opt-out') return []
  return [
    {
      id: eventId,
      messageId: due.messageId,
      n: due.n,
      type: EVENT_TYPES[effect.kind],
      data: { feedback_type: effect.feedbackType },
    },
  ]
}

export function hardBounceOf({ effect, subject, eventId }: ReportCase): HardBounce[] {
  if (effect.kind !== 'bounce' || !effect.details.hard || subject === null) return []
  const { details } = effect
  return [
    {
      workspaceId: subject.workspaceId,
      address: subject.address,
      receiver: receiverOf(subject.host, subject.domain),
      class: details.class,
      reply: { code: findReplyCode(details), status: details.status, text: bounceMessageOf(details) },
      eventId,
      messageId: subject.messageId,
    },
  ]
}

/** What one report changed; both are false for a repeated report. */
interface ReportChanges {
  readonly hasMoved: boolean
  readonly hasRaisedEvent: boolean
}

/** Counts for the rates of a workspace. The caller adds up several counts of one workspace. */
export function workspaceCountsOf(
  { effect, subject }: ReportCase,
  { hasMoved, hasRaisedEvent }: ReportChanges,
): WorkspaceCounts[] {
  if (subject === null) return []
  const [hard, complaints] = [
    hasMoved && effect.kind === 'bounce' && effect.details.hard,
    hasRaisedEvent && effect.kind === 'complaint',
  ]
  // the recipient was counted as delivered before it bounced
  if (!hard && !complaints) return []
  return [
    { workspaceId: subject.workspaceId, delivered: hard ? -1 : 0, hard: hard ? 1 : 0, complaints: complaints ? 1 : 0 },
  ]
}

const SUPPRESSION_KINDS = { complaint: 'complaint', 'opt-out': 'unsubscribe' } as const

/** A complaint or an opt-out suppresses the address immediately. */
export function suppressionOf({ effect, subject, eventId }: ReportCase): NewSuppression[] {
  if ((effect.kind !== 'complaint' && effect.kind !== 'opt-out') || subject === null) return []
  const { workspaceId, address, messageId } = subject
  return [
    {
      workspaceId,
      address,
      kind: SUPPRESSION_KINDS[effect.kind],
      reason: `${effect.kind} (${effect.feedbackType})`,
      eventId,
      messageId,
    },
  ]
}

interface BatchChanges {
  readonly hasMoved: ReadonlySet<string>
  readonly raised: RaisedEvents
  readonly now: Date
}

export function appliedReportOf(one: ReportCase, { hasMoved, raised, now }: BatchChanges): AppliedReport {
  const { due, report, effect, eventId } = one
  const hasChanged = hasMoved.has(`${due.messageId} ${due.n}`) || raised.raised.has(eventId)
  const result = resultOf(effect, hasChanged)
  const details = 'details' in effect ? effect.details : null
  return {
    id: due.id,
    kind: report?.kind ?? 'other',
    facts: details === null ? null : sanitizeDetails(details),
    result,
    eventId: hasChanged ? eventId : null,
    dueAt: result === 'waits' ? new Date(now.getTime() + Math.min(MAX_WAIT_MS, WAIT_MS * (due.tries + 1))) : null,
  }
}

const RESULT_OF_EFFECT: Readonly<Record<Exclude<ReportEffect['kind'], 'nothing'>, ReportResult>> = {
  bounce: 'bounced',
  confirm: 'delivered',
  complaint: 'complained',
  'opt-out': 'unsubscribed',
}

function resultOf(effect: ReportEffect, hasChanged: boolean): ReportResult {
  if (effect.kind === 'nothing') return effect.result
  return hasChanged ? RESULT_OF_EFFECT[effect.kind] : 'repeated'
}

function sanitizeDetails(details: BounceDetails): BounceDetails {
  return {
    ...details,
    address: details.address === null ? null : replaceControlCharacters(details.address).slice(0, MAX_TEXT),
    diagnostic: bounceMessageOf(details),
  }
}
