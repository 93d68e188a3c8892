/**
 * What a postmaster does next, as a table: the first row is the most urgent. A rule finds problems in the facts of the
 * desk, each with its evidence. Within a rule the problem with the most mail comes first. Pure.
 */
import type { Sentence } from '#src/platform/coded-text.ts'
import type { Desk } from './facts.ts'
import * as ofReceivers from './receiver-problems.ts'
import * as ofSenders from './sender-problems.ts'

/** A problem that a rule found. */
export interface Problem {
  /** What it is about: a receiver, a source, a workspace, a name. */
  readonly subject: string
  /** What is wrong. */
  readonly title: Sentence
  /** What to do. */
  readonly todo: Sentence
  /** Numbers, each with its time. */
  readonly evidence: readonly Sentence[]
  /** The receiver's own words. */
  readonly reply: string | null
  readonly since: Date | null
  /** Messages that it is about. */
  readonly volume: number
}

export interface ActionRule {
  /** For people: when it applies. */
  readonly when: string
  /** A page of docs/guides, with a section. */
  readonly guide: string
  readonly find: (desk: Desk) => readonly Problem[]
}

const CHECKS = 'sending-ips-and-pools#checks'
const COMPLAINTS = 'deliverability#complaints'

/** The most urgent first. */
export const ACTION_RULES = {
  'no-source': {
    when: 'the address of a source is on no machine, or no running node has a source for waiting mail',
    guide: 'sending-ips-and-pools#states',
    find: ofSenders.findMissingSources,
  },
  'certificate-expired': {
    when: 'a certificate of a web or SMTP name has expired',
    guide: 'certificates#when-it-fails',
    find: ofSenders.findExpiredCertificates,
  },
  'listed-and-refused': {
    when: 'a blocklist has a source, and receivers defer or refuse its mail for that',
    guide: CHECKS,
    find: ofSenders.findListedAndRefused,
  },
  suspended: {
    when: 'a reply rule suspended mail to a receiver',
    guide: 'traffic-shaping#reply-rules',
    find: ofReceivers.findSuspended,
  },
  'many-complaints': {
    when: 'more than 0.3 % of the delivered mail of a week had complaints at a receiver: large receivers act on it',
    guide: COMPLAINTS,
    find: ofReceivers.findManyComplaints,
  },
  'port-closed': {
    when: 'a source cannot reach port 25',
    guide: CHECKS,
    find: (desk) => ofSenders.findFailedCheck(desk, ['port 25']),
  },
  'no-reverse-name': {
    when: 'a source has no PTR record, or its name does not lead back to it',
    guide: CHECKS,
    find: (desk) => ofSenders.findFailedCheck(desk, ['PTR', 'FCrDNS']),
  },
  'dmarc-failing': {
    when: 'receivers report that mail of a source of ours fails DMARC: 100 messages in a week, or more',
    guide: 'deliverability#authentication',
    find: ofSenders.findDmarcFailures,
  },
  refused: {
    when: 'a receiver defers or refuses more than 5 % of its mail because of the sender: policy, blocked, refused',
    guide: 'troubleshooting#it-was-delivered-but-nobody-sees-it',
    find: ofReceivers.findRefused,
  },
  listed: {
    when: 'a blocklist has a source, and no receiver seems to use the list',
    guide: CHECKS,
    find: ofSenders.findListed,
  },
  'many-bounces': {
    when: 'more than 5 % of the mail of a workspace hard bounced in a week',
    guide: 'bounces-and-complaints#which-addresses-are-suppressed',
    find: ofSenders.findManyBounces,
  },
  complaints: {
    when: 'more than 0.1 % of the delivered mail of a week had complaints at a receiver: large receivers ask for less',
    guide: COMPLAINTS,
    find: ofReceivers.findComplaints,
  },
  'tls-failing': {
    when: 'mail to a receiver waits because TLS fails',
    guide: 'transport-security#if-mail-waits-because-of-tls',
    find: ofReceivers.findTlsFailures,
  },
  'many-deferrals': {
    when: 'a receiver deferred more attempts than a fifth of its mail of the day',
    guide: 'traffic-shaping',
    find: ofReceivers.findManyDeferrals,
  },
  'ehlo-name': {
    when: 'the EHLO name of a source does not resolve to it',
    guide: CHECKS,
    find: (desk) => ofSenders.findFailedCheck(desk, ['EHLO name']),
  },
  'operator-reply': {
    when: 'a receiver reports a problem that only the operator can fix',
    guide: 'operations#notices',
    find: ofSenders.findReplyNotices,
  },
  'certificate-expiring': {
    when: 'a certificate expires within seven days, and was not renewed',
    guide: 'certificates#when-it-fails',
    find: ofSenders.findExpiringCertificates,
  },
  slowed: {
    when: 'a receiver accepts fewer connections than the shaping file allows',
    guide: 'traffic-shaping#limits',
    find: ofReceivers.findSlowed,
  },
  'dmarc-unknown': {
    when: 'an address that is not ours sends mail of a domain that fails DMARC: 100 messages in a week, or more',
    guide: 'deliverability#authentication',
    find: ofSenders.findUnknownSenders,
  },
  'warm-up-limit': {
    when: 'a source in warm-up has used the allowance of the day at a receiver: mail waits, as planned',
    guide: 'sending-ips-and-pools#warm-up',
    find: ofReceivers.findWarmUpLimits,
  },
  unencrypted: {
    when: 'more than a tenth of the mail to a receiver was sent without TLS',
    guide: 'transport-security',
    find: ofReceivers.findUnencrypted,
  },
} as const satisfies Readonly<Record<string, ActionRule>>

export type ActionName = keyof typeof ACTION_RULES
export const ACTION_NAMES = Object.keys(ACTION_RULES) as [ActionName, ...ActionName[]]

export interface NextAction extends Problem {
  readonly rule: ActionName
  readonly guide: string
}

/** The most useful actions. A subject is named once, for its most urgent problem. */
export function nextActions(desk: Desk, limit = 3): NextAction[] {
  const found = ACTION_NAMES.flatMap((rule) => {
    const { find, guide } = ACTION_RULES[rule]
    return find(desk)
      .toSorted((a, b) => b.volume - a.volume || (a.subject < b.subject ? -1 : 1))
      .map((problem) => ({ ...problem, rule, guide }))
  })
  const seen = new Set<string>()
  return found.filter(({ subject }) => !seen.has(subject) && seen.add(subject)).slice(0, limit)
}
