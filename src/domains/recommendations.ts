/**
 * What the owner of a verified domain should still publish: records that sending does not need, but that receivers
 * reward. Pure. A domain that the operator trusts (a sandbox, a test) gets no advice.
 */
import type { Sentence } from '#src/platform/coded-text.ts'
import type { Domain } from './domains.ts'
import { recommendationText } from './record-texts.ts'
import { mailFromDomainOf } from './records.ts'

type RatedDomain = Pick<Domain, 'domain' | 'status' | 'isTrusted' | 'mailFromStatus' | 'checks'>

/** The most useful first. An earlier version stored the sentences that a check found without their codes. */
export function recommendationsOf({ domain, status, isTrusted, mailFromStatus, checks }: RatedDomain): Sentence[] {
  if (isTrusted || (status !== 'verified' && status !== 'degraded')) return []
  const hasNoDmarc = checks?.some((one) => one.purpose === 'dmarc' && one.status === 'missing') === true
  const hasNoNextName =
    checks?.some((one) => one.purpose === 'dkim' && one.type === 'CNAME' && one.status === 'missing') === true
  return [
    ...(mailFromStatus === 'verified' ? [] : [recommendationText('mail_from', { name: mailFromDomainOf(domain) })]),
    ...(hasNoNextName ? [recommendationText('dkim_cnames')] : []),
    ...(checks ?? []).flatMap(({ advice = [] }) => (typeof advice === 'string' ? { text: advice } : advice)),
    ...(hasNoDmarc ? [recommendationText('dmarc', { domain })] : []),
  ]
}
