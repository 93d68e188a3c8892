/** The DNS records that make mail of a domain ours to sign and its bounces ours to receive. Pure; names are absolute, with no final dot. */

export interface DnsRecord {
  readonly type: 'TXT' | 'MX'
  readonly name: string
  readonly value: string
  /** MX only. */
  readonly priority?: number
  readonly purpose: 'dkim' | 'spf' | 'dmarc' | 'return-path'
  /** The domain is not verified without it. */
  readonly isRequired: boolean
}

export interface Published {
  readonly selector: string
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  readonly dnsValue: string
}

export function dkimName(selector: string, domain: string): string {
  return `${selector}._domainkey.${domain}`
}

/** In the zone of the sending domain. */
export function domainRecords(domain: string, keys: readonly Published[], bounceDomain: string): DnsRecord[] {
  const dkim = keys.map(({ selector, algorithm, dnsValue }): DnsRecord => ({
    type: 'TXT', name: dkimName(selector, domain), value: dnsValue, purpose: 'dkim', isRequired: algorithm === 'rsa-sha256',
  }))
  return [
    ...dkim,
    // DMARC goes by our DKIM signature; this is for receivers that look at SPF of the header From as well
    { type: 'TXT', name: domain, value: `v=spf1 include:${bounceDomain} ~all`, purpose: 'spf', isRequired: false },
    { type: 'TXT', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=none', purpose: 'dmarc', isRequired: false },
  ]
}

/** In the zone of the bounce domain, once for all: MX so that bounces come home, SPF for the envelope sender (RFC 7208 2.4). */
export function returnPathRecords(bounceDomain: string, serverName: string): DnsRecord[] {
  return [
    { type: 'MX', name: bounceDomain, value: serverName, priority: 10, purpose: 'return-path', isRequired: false },
    { type: 'TXT', name: bounceDomain, value: `v=spf1 a:${serverName} -all`, purpose: 'return-path', isRequired: false },
  ]
}
