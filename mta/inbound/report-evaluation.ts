/**
 * Evaluates the effect of a report on a recipient. The token in the return-path identifies the recipient; the content
 * of the report only says what happened. A bounce changes the state of a sent recipient, a complaint raises an event,
 * and every other report is only counted. Pure; report-processor.ts applies the effect. Nothing here replies to a mail,
 * so no mail loop can start.
 */
import { isSameMailbox } from '#mta/classify/forwarded-address.ts'
import type { ParsedReport, ReportedRecipient } from '#mta/classify/report.ts'
import { MOVES, type State } from '#src/messages/state.ts'

/** The results of processing a report, one sentence each. */
export const REPORT_RESULTS = {
  bounced: 'the recipient was sent, delivered, captured or unknown, and is bounced now',
  delivered: 'the recipient was sent, and is delivered now',
  complained: 'the recipient reported the message as spam',
  unsubscribed: 'the recipient asked for no more of it',
  noted: 'a delay, or a report that changes nothing',
  counted: 'an automatic reply, or not a report',
  repeated: 'a report that was applied before',
  unreadable: 'the report could not be parsed',
  gone: 'its message is no longer stored',
  waits: 'the message is being sent to its recipient now; applied in a moment',
  kept: 'mail to postmaster, or a complaint that names no message of this server',
} as const
export type ReportResult = keyof typeof REPORT_RESULTS

/** What a report says about our recipient. */
export interface BounceDetails {
  readonly address: string | null
  readonly hard: boolean
  readonly status: string | null
  readonly class: string
  readonly diagnostic: string | null
}

export type ReportEffect =
  | { readonly kind: 'bounce'; readonly details: BounceDetails }
  | { readonly kind: 'confirm' }
  | { readonly kind: 'complaint' | 'opt-out'; readonly feedbackType: string }
  | { readonly kind: 'nothing'; readonly result: ReportResult; readonly details: BounceDetails | null }

export interface RecipientState {
  readonly address: string
  readonly state: State
}

/** A report may arrive before the result of its delivery is written. It is retried this many times. */
const MAX_WAITS = 60

const nothing = (result: ReportResult, details: BounceDetails | null = null): ReportEffect => ({
  kind: 'nothing',
  result,
  details,
})

/** `report` is null if it could not be parsed, `subject` if the recipient is no longer stored. */
export function evaluateReport(
  report: ParsedReport | null,
  subject: RecipientState | null,
  tries: number,
): ReportEffect {
  if (report === null) return nothing('unreadable')
  if (subject === null) return nothing('gone')
  const relevant = selectOurRecipient(report, subject.address)
  return EVALUATORS[relevant.kind](relevant, subject, tries)
}

const KINDS: Readonly<Record<ReportedRecipient['action'], ParsedReport['kind']>> = {
  failed: 'bounce',
  delayed: 'delay',
  delivered: 'delivered',
  relayed: 'delivered',
  expanded: 'delivered',
}

/** If the report names our recipient, only that entry counts: a member of a list that it expands to may have failed. */
function selectOurRecipient(report: ParsedReport, address: string): ParsedReport {
  const recipient = report.kind === 'bounce' ? findRecipient(report, address) : undefined
  return recipient === undefined ? report : { ...report, kind: KINDS[recipient.action], recipients: [recipient] }
}

function findRecipient(
  { recipients }: Pick<ParsedReport, 'recipients'>,
  address: string,
): ReportedRecipient | undefined {
  return recipients.find((one) => one.address.toLowerCase() === address.toLowerCase())
}

type ReportEvaluator = (report: ParsedReport, subject: RecipientState, tries: number) => ReportEffect

const EVALUATORS: Readonly<Record<ParsedReport['kind'], ReportEvaluator>> = {
  bounce: (report, subject, tries) => {
    const details = bounceDetailsOf(report, subject.address)
    if (isAllowed('late_bounce', subject.state)) return { kind: 'bounce', details }
    return subject.state === 'sending' && tries < MAX_WAITS ? nothing('waits', details) : nothing('repeated', details)
  },
  delivered: (report, subject, tries) => {
    const details = bounceDetailsOf(report, subject.address)
    if (report.recipients.every(({ action }) => action !== 'delivered')) return nothing('noted', details)
    if (isAllowed('confirm', subject.state)) return { kind: 'confirm' }
    return subject.state === 'sending' && tries < MAX_WAITS ? nothing('waits', details) : nothing('repeated', details)
  },
  delay: (report, subject) => nothing('noted', bounceDetailsOf(report, subject.address)),
  complaint: ({ feedbackType }) => {
    const name = feedbackType ?? 'abuse'
    const kind = FEEDBACK_TYPES.get(name)
    return kind === undefined ? nothing('counted') : { kind, feedbackType: name }
  },
  autoreply: () => nothing('counted'),
  other: () => nothing('counted'),
}

function isAllowed(move: keyof typeof MOVES, state: State): boolean {
  return MOVES[move].from.some((from: State) => from === state)
}

/** RFC 5965 7.3 and its registry. Other types (auth-failure, not-spam) are not complaints. */
const FEEDBACK_TYPES: ReadonlyMap<string, 'complaint' | 'opt-out'> = new Map([
  ...['abuse', 'fraud', 'virus', 'miscategorized', 'other'].map((name) => [name, 'complaint'] as const),
  ...['opt-out', 'opt-out-list'].map((name) => [name, 'opt-out'] as const),
])

const UNKNOWN: BounceDetails = { address: null, hard: false, status: null, class: 'unknown', diagnostic: null }

/**
 * If the report names another mailbox than ours, our recipient forwards or expands to it: a hard bounce there means
 * that the forward is broken. Of several other addresses, a soft bounce takes precedence.
 */
export function bounceDetailsOf({ recipients }: Pick<ParsedReport, 'recipients'>, address: string): BounceDetails {
  const chosen = findRecipient({ recipients }, address) ?? recipients.find(({ hard }) => !hard) ?? recipients[0]
  if (chosen === undefined) return UNKNOWN
  const isForward = chosen.hard && !isSameMailbox(chosen.address, address)
  return { ...pickDetails(chosen), ...(isForward ? { class: 'forward-broken' } : {}) }
}

function pickDetails({ address, hard, status, class: failureClass, diagnostic }: ReportedRecipient): BounceDetails {
  return { address, hard, status, class: failureClass, diagnostic }
}
