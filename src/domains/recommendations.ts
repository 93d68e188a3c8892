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
  const hasNoNextName =
    checks?.some((one) => one.purpose === 'dkim' && one.type === 'CNAME' && one.status === 'missing') === true
  return [
    ...(mailFromStatus === 'verified' ? [] : [recommendMailFrom(domain)]),
    ...(hasNoNextName ? [RECOMMEND_CNAMES] : []),
    ...(checks ?? []).flatMap(({ advice }) => advice ?? []),
    ...(hasNoDmarc ? [`Publish the DMARC record _dmarc.${domain}: large receivers require it of bulk senders.`] : []),
  ]
}

const RECOMMEND_CNAMES =
  'Publish all CNAME records of DKIM: without them the keys of the domain cannot be replaced automatically.'

function recommendMailFrom(domain: string): string {
  return (
    `Publish the MX and TXT records of ${mailFromDomainOf(domain)} (MAIL FROM): ` +
    'then bounces return to your own name, and SPF passes for the domain in From, which receivers and DMARC reward.'
  )
}
