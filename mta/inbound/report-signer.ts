/**
 * Finds which domain proves a report that came by mail: a DKIM signature that covers the whole mail and belongs to the
 * organisation of its From (RFC 6376 6, RFC 7489 3.1.1 relaxed). A mail with several From addresses proves nothing.
 */
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { getDomain } from 'tldts'
import { splitMessage } from '#src/mail/split-message.ts'

export type ResolveDns = (name: string, type: string) => Promise<unknown>

/** Each signature costs a DNS query to a foreign domain. */
const MAX_SIGNATURES = 5

/** Returns '' if no signature verifies the report; null if DNS did not answer. */
export async function findSigner(raw: Buffer, resolve: ResolveDns): Promise<string | null> {
  const signatures = splitMessage(raw).fields.filter(({ name }) => name === 'dkim-signature').length
  if (signatures === 0 || signatures > MAX_SIGNATURES) return ''
  const { results, headerFrom } = await dkimVerify(raw, { strict: true, resolver: resolve as never })
  const [from, second] = headerFrom.map((address) => organisationOf(address.slice(address.lastIndexOf('@') + 1)))
  if (from === undefined || second !== undefined) return ''
  const aligned = results.filter(
    ({ signingDomain }) => signingDomain !== undefined && organisationOf(signingDomain) === from,
  )
  // RFC 8460 3: a signature over the beginning only (l=) does not count
  const proof = aligned.find(
    ({ status, canonBodyLengthLimited }) => status.result === 'pass' && canonBodyLengthLimited !== true,
  )
  if (proof !== undefined) return proof.signingDomain?.toLowerCase() ?? ''
  return aligned.some(({ status }) => status.result === 'temperror') ? null : ''
}

/** The registered domain: that of mail.example.co.uk is example.co.uk. */
export function organisationOf(domain: string): string {
  return getDomain(domain.toLowerCase()) ?? domain.toLowerCase()
}
