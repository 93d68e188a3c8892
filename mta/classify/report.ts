/**
 * Mail that came back, read: a bounce, a notice of delay or of delivery, a complaint, an automatic answer, or none of these; and whom it is
 * about. The machine-readable part (RFC 3464, RFC 5965) is believed first; words fill what it leaves out, and stand alone where there is
 * none. This only reads: what to do about it is decided elsewhere. Never throws; a mail that makes no sense is `other`.
 */
import { bareAddress, bareAddresses } from './bare-address.ts'
import { type Complaint, readComplaint } from './complaint.ts'
import { isAutomaticAnswer, isFailureNotice, isDelayNotice, isFromNobody } from './notice-kind.ts'
import { chooseEntries, entryOf } from './notice-recipients.ts'
import { readNotice, returnedFields, type Entry, type Notice } from './notice.ts'
import { type Field, readGroups } from './fields.ts'
import { type Part, partsOf, readMail, textOf, valueOf } from './mime.ts'
import type { Reading } from './failure-patterns.ts'
import { type Command, commandOf, isConfirmed, readFailure, statusIn, withoutRecipient } from './failure-text.ts'
import { onOneLine } from './word-patterns.ts'

export type ReportKind = 'bounce' | 'delay' | 'delivered' | 'complaint' | 'autoreply' | 'other'
export type Action = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

export interface ReportedRecipient {
  readonly address: string
  /** The address, or its domain, will never take mail. */
  readonly hard: boolean
  /** Enhanced status code (RFC 3463), where the report holds one. */
  readonly status: string | null
  readonly class: string
  readonly action: Action
  /** What the server said. */
  readonly diagnostic: string | null
}

export interface Report {
  readonly kind: ReportKind
  readonly recipients: readonly ReportedRecipient[]
  /** abuse, opt-out, … of a complaint (RFC 5965 7.3). */
  readonly feedbackType: string | null
  /** Message-ID of the mail it is about, without angle brackets. */
  readonly originalMessageId: string | null
}

/** `raw` is the whole mail as it was received. */
export function readReport(raw: Buffer): Report {
  const mail = readMail(raw)
  const notice = readNotice(mail)
  const returned = returnedFields(mail, notice)
  const originalMessageId = readMessageId(valueOf(returned, 'message-id'))
  const complaint = readComplaint(mail, returned)
  if (complaint !== null) return describeComplaint(complaint, originalMessageId)
  const reported = readDeliveryStatus(mail, notice)
  const isNotice = reported.length > 0 || isFailureNotice(mail, notice) || isDelayNotice(mail, notice)
  const about = { feedbackType: null, originalMessageId }
  if (!isNotice)
    return {
      kind: isAutomaticAnswer(mail, notice) || isFromNobody(mail) ? 'autoreply' : 'other',
      recipients: [],
      ...about,
    }
  const recipients = reported.length > 0 ? reported : readWords(mail, notice, returned)
  return { kind: kindOf(recipients) ?? (isDelayNotice(mail, notice) ? 'delay' : 'bounce'), recipients, ...about }
}

function describeComplaint({ feedbackType, addresses }: Complaint, originalMessageId: string | null): Report {
  const about = { hard: false, status: null, class: feedbackType, action: 'delivered', diagnostic: null } as const
  return {
    kind: 'complaint',
    recipients: addresses.map((address) => ({ address, ...about })),
    feedbackType,
    originalMessageId,
  }
}

/** Null where nobody is named. */
function kindOf(recipients: readonly ReportedRecipient[]): ReportKind | null {
  const actions = recipients.map(({ action }) => action)
  if (actions.includes('failed')) return 'bounce'
  if (actions.includes('delayed')) return 'delay'
  return actions.length > 0 ? 'delivered' : null
}

// ── RFC 3464 ──

/** A report is about one message, and ours go to one recipient each: more than these are noise or harm. */
const MAX_RECIPIENTS = 200

/** So many are looked for in the notice as a whole; it cannot say much about more, and is read anew for each. */
const MAX_BY_NOTICE = 20

function noticeFor(notice: Notice, place: number): Notice {
  return place < MAX_BY_NOTICE ? notice : { ...notice, text: '' }
}

const ACTIONS: ReadonlyMap<string, Action> = new Map([
  ['failed', 'failed'],
  ['failure', 'failed'],
  ['delayed', 'delayed'],
  ['delivered', 'delivered'],
  ['deliverable', 'delivered'],
  ['relayed', 'relayed'],
  ['expanded', 'expanded'],
])

/** Recipients of the delivery-status part; where there is none, of fields that stand in the notice itself. */
function readDeliveryStatus(mail: Part, notice: Notice): ReportedRecipient[] {
  const parts = partsOf(mail, /^message\/(?:global-|x)?delivery-status$/)
  const groups = parts.length > 0 ? parts.flatMap((part) => readGroups(textOf(part))) : inlineGroups(notice)
  const failed = bareAddresses(valueOf(mail.fields, 'x-failed-recipients'))
  const about = groups.filter((fields) => RECIPIENT_FIELDS.some((name) => valueOf(fields, name) !== null))
  const named = about.length === 1 ? failed : []
  const recipients = about
    .slice(0, MAX_RECIPIENTS)
    .map((fields, i) => readGroup(fields, noticeFor(notice, i), named))
    .filter((recipient) => recipient !== null)
  return [...new Map(recipients.map((recipient) => [recipient.address.toLowerCase(), recipient])).values()]
}

/** Some servers write the fields of a report into its text. */
function inlineGroups(notice: Notice): (readonly Field[])[] {
  const text = notice.text + notice.returned
  return /^[ \t]*(?:final|original)-recipient:/im.test(text) && /^[ \t]*(?:action|status|diagnostic-code):/im.test(text)
    ? readGroups(text.replace(/^[ \t]+(?=[A-Z][\w-]+:)/gm, '')).filter(
        (fields) => valueOf(fields, 'action') !== null || valueOf(fields, 'status') !== null,
      )
    : []
}

const RECIPIENT_FIELDS = ['final-recipient', 'original-recipient', 'x-actual-recipient'] as const

function readGroup(fields: readonly Field[], notice: Notice, failed: readonly string[]): ReportedRecipient | null {
  const address = chooseAddress(fields, failed)
  if (address === null) return null
  const told = valueOf(fields, 'status')
  const status = /[245]\.\d{1,3}\.\d{1,3}/.exec(told ?? '')?.[0] ?? null
  const diagnostic = cleanDiagnostic(valueOf(fields, 'diagnostic-code'))
  const action =
    ACTIONS.get(/^[a-z]+/.exec((valueOf(fields, 'action') ?? '').toLowerCase())?.[0] ?? '') ?? actionOf(status)
  return describe({
    address,
    action,
    status,
    diagnostic,
    comment: told,
    entry: entryOf(notice, address),
    notice: notice.text,
  })
}

function actionOf(status: string | null): Action {
  return status?.startsWith('2') === true ? 'delivered' : 'failed'
}

function chooseAddress(fields: readonly Field[], failed: readonly string[]): string | null {
  // a route or a local name stands for another address, which the sender has named
  for (const name of RECIPIENT_FIELDS) {
    for (const { value } of fields.filter((field) => field.name === name).toReversed()) {
      const address = bareAddress(value)
      if (address !== null && !/^[^;]*;\s*@/.test(value)) return address
    }
  }
  return failed[0] ?? null
}

function cleanDiagnostic(value: string | null): string | null {
  const text = (value ?? '').replace(/^\s*[\w.-]+\s*;/, '').trim()
  return text === '' ? null : text.slice(0, 2000)
}

// ── words ──

function readWords(mail: Part, notice: Notice, returned: readonly Field[]): ReportedRecipient[] {
  const action = isDelayNotice(mail, notice) ? 'delayed' : 'failed'
  return chooseEntries(mail, notice, returned).map((entry, i) =>
    describe({
      address: entry.address,
      action,
      status: null,
      diagnostic: null,
      comment: null,
      entry,
      notice: noticeFor(notice, i).text,
    }),
  )
}

interface Known {
  readonly address: string
  readonly action: Action
  readonly status: string | null
  readonly diagnostic: string | null
  /** What stands behind the status code in parentheses. */
  readonly comment: string | null
  readonly entry: Entry | null
  readonly notice: string
}

/** Characters that are looked at of what is said about one recipient. */
const MAX_SAID = 4000

function describe(known: Known): ReportedRecipient {
  const { address, action } = known
  const status = chooseStatus(known)
  if (action !== 'failed' && action !== 'delayed') {
    return { address, hard: false, status, class: action, action, diagnostic: known.diagnostic }
  }
  const command = commandOf(known.entry?.text ?? known.notice)
  const reading = readSaid(known, command) ?? readFailure('', status, command)
  const isTemporary = action === 'delayed' || (status?.startsWith('4') === true && reading.class !== 'no-such-user')
  const isHard = reading.isHard && !isTemporary && isConfirmed(reading, status, command)
  const diagnostic = known.diagnostic ?? firstReply(known.entry?.text ?? null)
  return { address, hard: isHard, status, class: reading.class, action, diagnostic }
}

/**
 * From the most exact words to the least; null where none says anything. A notice around the server's own answer, which says nothing
 * itself, condemns nobody: it speaks of what may be, or of the mail.
 */
function readSaid({ address, diagnostic, entry, comment, notice }: Known, command: Command | null): Reading | null {
  const said = entry?.text ?? null
  for (const text of [
    diagnostic,
    firstReply(said),
    said,
    said === null ? null : onOneLine(said.slice(0, MAX_SAID)),
    comment,
  ]) {
    const reading = readText(text, address, command)
    if (reading !== null) return reading
  }
  const reading = readText(notice, address, command)
  return reading?.isHard === true && diagnostic !== null ? null : reading
}

function readText(text: string | null, address: string, command: Command | null): Reading | null {
  if (text === null || text.trim() === '') return null
  const reading = readFailure(withoutRecipient(text.slice(0, MAX_SAID), address), null, command)
  return reading.class === 'unknown' ? null : reading
}

function chooseStatus({ status, diagnostic, entry, notice }: Known): string | null {
  const said = statusIn(diagnostic ?? '') ?? statusIn(entry?.text ?? '')
  if (status === null) return said ?? (entry === null ? statusIn(notice) : null)
  return said !== null && (said[0] === status[0] || status.endsWith('.0.0')) ? said : status
}

/** The line of an SMTP reply in a text, or its first line. */
function firstReply(text: string | null): string | null {
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((one) => /(?:^|\s)[245]\d\d[ -]/.test(one)) ?? lines[1] ?? lines[0]
  return line === undefined ? null : line.slice(0, 2000)
}

function readMessageId(value: string | null): string | null {
  const text = /<([^<>\s]+)>/.exec(value ?? '')?.[1] ?? value?.trim() ?? ''
  return text === '' ? null : text.slice(0, 998)
}
