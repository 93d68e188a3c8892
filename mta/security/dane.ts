/**
 * DANE for SMTP (RFC 7672 2): a validating resolver must vouch for the chain from the domain's MX records over the
 * host's addresses to its TLSA records. If it does not, DANE does not apply. If a lookup fails, the requirement is
 * unknown and the host is not used for now, because an attacker could cause the failure.
 */
import type { DnsAnswer, TlsaRecord } from '#src/net/dns-answer.ts'
import { isUsable, strongestOf } from './certificate.ts'

export interface DaneDns {
  mx(domain: string): Promise<DnsAnswer<string>>
  owner(host: string): Promise<DnsAnswer<string>>
  tlsa(name: string): Promise<DnsAnswer<TlsaRecord>>
}

export type DaneHost =
  | { readonly kind: 'none' }
  /** TLSA records exist at `base`; `usable` are the strongest usable ones of each kind. */
  | { readonly kind: 'records'; readonly base: string; readonly usable: readonly TlsaRecord[] }
  | { readonly kind: 'unknown'; readonly text: string }

const NONE: DaneHost = { kind: 'none' }
/** Limit of TLSA records for one host. */
const MAX_RECORDS = 30

/**
 * Addresses first: in an unsigned zone TLSA is not queried, since some name servers do not answer it (RFC 7672 2.2.2).
 */
export async function lookUpHostDane(dns: DaneDns, host: string, port: number): Promise<DaneHost> {
  const owner = await dns.owner(host)
  if (owner.kind === 'failed') return unknown(host, owner.text)
  if (owner.kind === 'nothing' || owner.isSecure !== true) return NONE
  const [name = host] = owner.records
  for (const base of new Set([name, host])) {
    const tlsa = await dns.tlsa(`_${port}._tcp.${base}`)
    if (tlsa.kind === 'failed') return unknown(base, tlsa.text)
    if (tlsa.kind === 'nothing' || tlsa.isSecure !== true) continue
    return { kind: 'records', base, usable: strongestOf(tlsa.records.filter(isUsable)).slice(0, MAX_RECORDS) }
  }
  return NONE
}

function unknown(name: string, text: string): DaneHost {
  return { kind: 'unknown', text: `the DANE lookup for ${name} failed: ${text}` }
}
