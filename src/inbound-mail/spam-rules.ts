/**
 * The spam verdict of a received email, from its authentication, its form and the operator's filter, if there is one: a
 * table of rules with scores. Without a filter it finds forged senders and dangerous files, not unwanted content. Pure.
 */
import type { Authentication, SpamFilterResult, ReceivedParts, SpamResult } from './received-content.ts'

export interface JudgedMail {
  readonly authentication: Authentication
  readonly parts: Pick<ReceivedParts, 'from' | 'date' | 'header_message_id' | 'subject' | 'headers'>
  readonly filenames: readonly (string | null)[]
  readonly filter: SpamFilterResult | null
}

interface SpamRule {
  readonly name: string
  readonly meaning: string
  readonly score: number
  readonly matches: (mail: JudgedMail) => boolean
}

/** The least scores of the verdicts. */
const SUSPICIOUS_SCORE = 3
const SPAM_SCORE = 6

/** Files that run when they are opened, or that hide such files. */
const EXECUTABLE = /\.(?:exe|scr|com|pif|bat|cmd|js|jse|vbs|vbe|wsf|wsh|hta|msi|jar|ps1|lnk|iso|img|vhd)\s*$/i

const hasDmarcFailure = ({ authentication: { dmarc } }: JudgedMail, policy: string): boolean =>
  dmarc.result === 'fail' && (dmarc.policy ?? 'none') === policy
const hasAlignedSignature = ({ authentication: { dkim } }: JudgedMail): boolean =>
  dkim.some(({ result, is_aligned: isAligned }) => result === 'pass' && isAligned)
const countFields = ({ parts }: JudgedMail, name: string): number =>
  parts.headers.filter((field) => field.name.toLowerCase() === name).length

export const SPAM_RULES: readonly SpamRule[] = [
  {
    name: 'dmarc-reject',
    meaning: 'DMARC fails, and the From domain asks to reject such mail',
    score: 6,
    matches: (mail) => hasDmarcFailure(mail, 'reject'),
  },
  {
    name: 'dmarc-quarantine',
    meaning: 'DMARC fails, and the From domain asks to quarantine such mail',
    score: 4,
    matches: (mail) => hasDmarcFailure(mail, 'quarantine'),
  },
  {
    name: 'dmarc-fail',
    meaning: 'DMARC fails; the From domain has the policy none',
    score: 1,
    matches: (mail) => hasDmarcFailure(mail, 'none'),
  },
  {
    name: 'spf-fail',
    meaning: 'the sending server is not one of the sender, and no signature of the From domain is valid',
    score: 3,
    matches: (mail) => mail.authentication.spf.result === 'fail' && !hasAlignedSignature(mail),
  },
  {
    name: 'spf-softfail',
    meaning: 'the sending server is probably not one of the sender, and no signature of the From domain is valid',
    score: 1,
    matches: (mail) => mail.authentication.spf.result === 'softfail' && !hasAlignedSignature(mail),
  },
  {
    name: 'no-authentication',
    meaning: 'neither SPF nor a DKIM signature passes',
    score: 1,
    matches: ({ authentication: { spf, dkim } }) =>
      spf.result !== 'pass' && dkim.every(({ result }) => result !== 'pass'),
  },
  { name: 'no-from', meaning: 'there is no From address', score: 3, matches: ({ parts }) => parts.from === null },
  {
    name: 'several-from',
    meaning: 'there is more than one From field (RFC 5322 3.6)',
    score: 4,
    matches: (mail) => countFields(mail, 'from') > 1,
  },
  { name: 'no-date', meaning: 'there is no valid Date', score: 1, matches: ({ parts }) => parts.date === null },
  {
    name: 'no-message-id',
    meaning: 'there is no Message-ID',
    score: 1,
    matches: ({ parts }) => parts.header_message_id === null,
  },
  {
    name: 'executable-attachment',
    meaning: 'an attachment is a program or a script',
    score: 4,
    matches: ({ filenames }) => filenames.some((name) => name !== null && EXECUTABLE.test(name)),
  },
  {
    name: 'spam-filter',
    meaning: 'the filter of the operator (SPAM_FILTER) calls it spam',
    score: 6,
    matches: ({ filter }) => filter?.verdict === 'spam',
  },
]

export function judgeSpam(mail: JudgedMail): SpamResult {
  const matching = SPAM_RULES.filter(({ matches }) => matches(mail))
  const score = matching.reduce((sum, rule) => sum + rule.score, 0)
  const verdict = score >= SPAM_SCORE ? 'spam' : score >= SUSPICIOUS_SCORE ? 'suspicious' : 'clean'
  return { verdict, score, reasons: matching.map(({ name }) => name), filter: mail.filter }
}
