/**
 * What a report means for the recipient that its token names. The token says who; the text says only what happened. Pure: report-processor.ts
 * carries it out. A bounce moves a recipient that was handed over, a complaint is an event; everything else changes nothing but is counted.
 * Nothing here answers a mail, so no loop can begin.
 */
import { getDomain } from 'tldts'
import type { Report, ReportedRecipient } from '#mta/classify/report.ts'
import { MOVES, type State } from '#src/messages/state.ts'

/** What a report changed, one sentence each. */
export const RESULTS = {
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
export type Result = keyof typeof RESULTS

/** What a report says of our recipient. */
export interface Facts {
  readonly address: string | null
  readonly hard: boolean
  readonly status: string | null
  readonly class: string
  readonly diagnostic: string | null
}

export type Verdict =
  | { readonly kind: 'bounce'; readonly facts: Facts }
  | { readonly kind: 'confirm' }
  | { readonly kind: 'complaint' | 'opt-out'; readonly feedbackType: string }
  | { readonly kind: 'nothing'; readonly result: Result; readonly facts: Facts | null }

export interface Subject {
  readonly address: string
  readonly state: State
}

/** A report that came faster than its delivery was settled is looked at again so many times. */
const MOST_WAITS = 60

const nothing = (result: Result, facts: Facts | null = null): Verdict => ({ kind: 'nothing', result, facts })

/** `report` null: it could not be read. `subject` null: there is no such recipient any more. */
export function judge(report: Report | null, subject: Subject | null, tries: number): Verdict {
  if (report === null) return nothing('unreadable')
  if (subject === null) return nothing('gone')
  const about = aboutOurs(report, subject.address)
  return JUDGES[about.kind](about, subject, tries)
}

const KINDS: Readonly<Record<ReportedRecipient['action'], Report['kind']>> = {
  failed: 'bounce',
  delayed: 'delay',
  delivered: 'delivered',
  relayed: 'delivered',
  expanded: 'delivered',
}

/** What is said of our recipient counts, where it is named: another, whom it stands for, may have failed beside it. */
function aboutOurs(report: Report, address: string): Report {
  const ours = report.kind === 'bounce' ? findOurs(report, address) : undefined
  return ours === undefined ? report : { ...report, kind: KINDS[ours.action], recipients: [ours] }
}

function findOurs({ recipients }: Pick<Report, 'recipients'>, address: string): ReportedRecipient | undefined {
  return recipients.find((one) => one.address.toLowerCase() === address.toLowerCase())
}

type Judge = (report: Report, subject: Subject, tries: number) => Verdict

const JUDGES: Readonly<Record<Report['kind'], Judge>> = {
  bounce: (report, subject, tries) => {
    const facts = factsOf(report, subject.address)
    if (may('late_bounce', subject.state)) return { kind: 'bounce', facts }
    return subject.state === 'sending' && tries < MOST_WAITS ? nothing('waits', facts) : nothing('repeated', facts)
  },
  delivered: (report, subject, tries) => {
    const facts = factsOf(report, subject.address)
    if (report.recipients.every(({ action }) => action !== 'delivered')) return nothing('noted', facts)
    if (may('confirm', subject.state)) return { kind: 'confirm' }
    return subject.state === 'sending' && tries < MOST_WAITS ? nothing('waits', facts) : nothing('repeated', facts)
  },
  delay: (report, subject) => nothing('noted', factsOf(report, subject.address)),
  complaint: ({ feedbackType }) => {
    const name = feedbackType ?? 'abuse'
    const kind = COMPLAINTS.get(name)
    return kind === undefined ? nothing('counted') : { kind, feedbackType: name }
  },
  autoreply: () => nothing('counted'),
  other: () => nothing('counted'),
}

function may(move: keyof typeof MOVES, state: State): boolean {
  return MOVES[move].from.some((from: State) => from === state)
}

/** RFC 5965 7.3 and its registry; what is not here (auth-failure, not-spam) is no complaint. */
const COMPLAINTS: ReadonlyMap<string, 'complaint' | 'opt-out'> = new Map([
  ...['abuse', 'fraud', 'virus', 'miscategorized', 'other'].map((name) => [name, 'complaint'] as const),
  ...['opt-out', 'opt-out-list'].map((name) => [name, 'opt-out'] as const),
])

const UNKNOWN: Facts = { address: null, hard: false, status: null, class: 'unknown', diagnostic: null }

/**
 * Where the report is about another address than ours, ours passed the mail on: that address is dead, ours is a forward to nowhere. One in
 * the same organisation is another name of the same mailbox. Of several that are not ours, the mildest counts.
 */
export function factsOf({ recipients }: Pick<Report, 'recipients'>, address: string): Facts {
  const chosen = findOurs({ recipients }, address) ?? recipients.find(({ hard }) => !hard) ?? recipients[0]
  if (chosen === undefined) return UNKNOWN
  const isForward = chosen.hard && organisationOf(chosen.address) !== organisationOf(address)
  return { ...pick(chosen), ...(isForward ? { class: 'forward-broken' } : {}) }
}

function pick({ address, hard, status, class: failureClass, diagnostic }: ReportedRecipient): Facts {
  return { address, hard, status, class: failureClass, diagnostic }
}

function organisationOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  return getDomain(domain) ?? domain
}
