/** Records of policies that the owner of a domain may publish besides those for sending. */

export type Policy = 'tlsRpt' | 'mtaSts'

export interface PolicyRecord {
  readonly type: 'TXT'
  readonly name: string
  readonly value: string
}

/** @returns one entry for each policy, with a record whose placeholders the owner replaces */
export function policyRecords(
  domain: string,
): { readonly policy: Policy; readonly records: readonly PolicyRecord[] }[] {
  const txt = (name: string, value: string): PolicyRecord[] => [{ type: 'TXT', name: `${name}.${domain}`, value }]
  return [
    // RFC 8460 section 3
    { policy: 'tlsRpt', records: txt('_smtp._tls', `v=TLSRPTv1; rua=mailto:tls-reports@${domain}`) },
    // RFC 8461 section 3.1
    { policy: 'mtaSts', records: txt('_mta-sts', 'v=STSv1; id=20260101000000') },
  ]
}
