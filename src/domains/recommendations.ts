/**
 * What the owner of a verified domain should still publish: records that sending does not need, but that receivers
 * reward. Pure. A domain that the operator trusts (a sandbox, a test) gets no advice.
 */
import type { Domain } from './domains.ts'
import { mailFromDomainOf } from './records.ts'

type RatedDomain = Pick<Domain, 'domain' | 'status' | 'isTrusted' | 'mailFromStatus' | 'checks'>

/** Sentences, the most useful first. */
export function recommendationsOf({ domain, status, isTrusted, mailFromStatus, checks }: RatedDomain): string[] {
  if (isTrusted || (status !== 'verified' && status !== 'degraded')) return []
  const hasNoDmarc = checks?.some((one) => one.purpose === 'dmarc' && one.status === 'missing') === true
  return [
    ...(mailFromStatus === 'verified' ? [] : [recommendMailFrom(domain)]),
    ...(hasNoDmarc ? [`Publish the DMARC record _dmarc.${domain}: large receivers require it of bulk senders.`] : []),
  ]
}

function recommendMailFrom(domain: string): string {
  return (
    `Publish the MX and TXT records of ${mailFromDomainOf(domain)} (MAIL FROM): ` +
    'then bounces return to your own name, and SPF passes for the domain in From, which receivers and DMARC reward.'
  )
}
