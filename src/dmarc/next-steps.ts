/**
 * What the owner of a domain should do about a source of mail, and about the domain as a whole: the first row of a
 * table whose condition is true. Each has a stable code, a sentence, and an anchor in docs/guides/dmarc-reports.md.
 * Pure. The sentences contain names from DNS and reports, which are untrusted text.
 */
import type { DmarcPolicy } from './aggregate-report.ts'

/** Messages of one source in a period. */
export interface SourceCounts {
  readonly messages: number
  readonly passed: number
  readonly dkimAligned: number
  readonly spfAligned: number
  /** Of those that failed, the receiver knew that they were forwarded. */
  readonly forwarded: number
  /** A domain that passes DKIM or SPF, but is not aligned; null: none. */
  readonly otherDomain: string | null
  /** One of the addresses that this installation sends from. */
  readonly isOurs: boolean
}

export interface NextStep {
  readonly code: string
  readonly text: string
  /** An anchor of the guide. */
  readonly anchor: string
}

/** A share that allows for the few failures of every receiver, such as a signature broken on the way. */
const NEARLY_ALL = 0.98
const HARDLY_ANY = 0.02

interface SourceRule {
  readonly code: SourceStepCode
  readonly isTrue: (source: SourceCounts, policy: DmarcPolicy | null) => boolean
  readonly text: (source: SourceCounts) => string
}

export const SOURCE_STEPS = [
  'ours_failing',
  'passing',
  'spf_only',
  'forwarded',
  'forwarded_failing',
  'partly_failing',
  'unaligned',
  'rejected',
  'unknown_sender',
] as const
export type SourceStepCode = (typeof SOURCE_STEPS)[number]

const SOURCE_RULES: readonly SourceRule[] = [
  {
    code: 'ours_failing',
    isTrue: (source) => source.isOurs && shareOf(source.passed, source) < NEARLY_ALL,
    text: () =>
      'This installation sends this mail, and some of it fails: verify the domain, and correct its DKIM and ' +
      'MAIL FROM records.',
  },
  {
    code: 'spf_only',
    isTrue: (source) =>
      shareOf(source.passed, source) >= NEARLY_ALL && shareOf(source.dkimAligned, source) < NEARLY_ALL,
    text: () => 'It passes by SPF only, which forwarding breaks: turn on DKIM for your domain at this service.',
  },
  {
    code: 'forwarded',
    isTrue: (source) =>
      !source.isOurs &&
      shareOf(source.dkimAligned, source) >= NEARLY_ALL &&
      shareOf(source.spfAligned, source) <= HARDLY_ANY,
    text: () => 'Nothing to do: DKIM passes. It is a forwarder, or a service that signs with your domain.',
  },
  {
    code: 'passing',
    isTrue: (source) => shareOf(source.passed, source) >= NEARLY_ALL,
    text: () => 'Nothing to do: its mail passes.',
  },
  {
    code: 'forwarded_failing',
    isTrue: ({ forwarded, messages, passed }) => forwarded > 0 && forwarded + passed >= messages * NEARLY_ALL,
    text: () => 'Nothing to do: it forwards mail or is a mailing list, and receivers know it.',
  },
  {
    code: 'partly_failing',
    isTrue: (source) => shareOf(source.passed, source) > HARDLY_ANY,
    text: ({ passed, messages }) =>
      `Only ${Math.floor((100 * passed) / messages)} % passes: find out which of its mail is not signed with ` +
      'your domain.',
  },
  {
    code: 'unaligned',
    isTrue: ({ otherDomain }) => otherDomain !== null,
    text: ({ otherDomain }) =>
      `It authenticates as ${otherDomain ?? ''}. If you use this service, set up DKIM for your domain there, or ` +
      'add it to SPF; if not, it forwards mail, or somebody uses your name.',
  },
  {
    code: 'rejected',
    isTrue: (_source, policy) => policy === 'quarantine' || policy === 'reject',
    text: () =>
      'If it is not yours, nothing to do: your policy has receivers refuse it or treat it as spam. If it is, ' +
      'add it to SPF and sign with DKIM.',
  },
  {
    code: 'unknown_sender',
    isTrue: () => true,
    text: () =>
      'If it is yours, add it to SPF and sign with DKIM. If not, somebody else sends with your name: move the ' +
      'policy to quarantine once your own sources pass.',
  },
]

export function nextStepOfSource(
  source: SourceCounts,
  policy: DmarcPolicy | null,
): NextStep & { code: SourceStepCode } {
  const rule = SOURCE_RULES.find(({ isTrue }) => isTrue(source, policy))
  if (rule === undefined) throw new Error('the last rule is always true')
  return { code: rule.code, text: rule.text(source), anchor: `source-${rule.code.replaceAll('_', '-')}` }
}

/** What is known of a domain in a period. */
export interface DomainState {
  /** The policy in the newest report; null: no verified report. */
  readonly policy: DmarcPolicy | null
  readonly percent: number
  /** Days with reports. */
  readonly days: number
  readonly sources: readonly { readonly code: SourceStepCode; readonly messages: number }[]
}

export const DOMAIN_STEPS = ['no_reports', 'correct_sources', 'wait', 'raise', 'raise_percent', 'done'] as const
export type DomainStepCode = (typeof DOMAIN_STEPS)[number]

/** Sources that are probably the domain's own, and fail. */
const TO_CORRECT: ReadonlySet<SourceStepCode> = new Set(['ours_failing', 'partly_failing'])
/** Weekly mail has come once, and most monthly mail has not; a shorter time proves little. */
const MIN_DAYS = 14
const STRICTER: Readonly<Record<DmarcPolicy, DmarcPolicy | null>> = {
  none: 'quarantine',
  quarantine: 'reject',
  reject: null,
}

interface DomainRule {
  readonly code: DomainStepCode
  readonly isTrue: (domain: DomainState) => boolean
  readonly text: (domain: DomainState) => string
}

const DOMAIN_RULES: readonly DomainRule[] = [
  {
    code: 'no_reports',
    isTrue: ({ policy }) => policy === null,
    text: () => 'There is no verified report in this period. Publish the DMARC record, and wait two days.',
  },
  {
    code: 'correct_sources',
    isTrue: ({ sources }) => sources.some(({ code }) => TO_CORRECT.has(code)),
    text: () => 'Correct the sources of yours that fail before you change the policy.',
  },
  {
    code: 'done',
    isTrue: ({ policy, percent }) => policy === 'reject' && percent === 100,
    text: () => 'Nothing to do: the policy is reject, and your own sources pass.',
  },
  {
    code: 'wait',
    isTrue: ({ days }) => days < MIN_DAYS,
    text: ({ days }) => `Wait until there are reports of ${MIN_DAYS} days (now ${days}) before you change the policy.`,
  },
  {
    code: 'raise_percent',
    isTrue: ({ percent, policy }) => percent < 100 && policy !== 'none',
    text: ({ percent }) => `Your own sources pass: apply the policy to all mail, with pct=100 instead of ${percent}.`,
  },
  {
    code: 'raise',
    isTrue: () => true,
    text: ({ policy }) =>
      `Your own sources pass: raise the policy from p=${policy ?? ''} to p=${STRICTER[policy ?? 'none'] ?? ''}.`,
  },
]

export function nextStepOfDomain(domain: DomainState): NextStep & { code: DomainStepCode } {
  const rule = DOMAIN_RULES.find(({ isTrue }) => isTrue(domain))
  if (rule === undefined) throw new Error('the last rule is always true')
  return { code: rule.code, text: rule.text(domain), anchor: `domain-${rule.code.replaceAll('_', '-')}` }
}

function shareOf(count: number, { messages }: SourceCounts): number {
  return messages === 0 ? 0 : count / messages
}
