/**
 * What DNS asks of a host (RFC 7672 2): the chain from the domain's MX records over the host's addresses to its TLSA records must be
 * vouched for by a validating resolver. Where it is not, DANE asks nothing. Where a look-up fails, nobody knows what it asks: that host
 * waits, for an attacker could make look-ups fail.
 */
import type { DnsAnswer, TlsaRecord } from '#src/net/dns-answer.ts'
import { isUsable, strongestOf } from './certificate.ts'

export interface DaneDns {
  mx(domain: string): Promise<DnsAnswer<string>>
  owner(host: string): Promise<DnsAnswer<string>>
  tlsa(name: string): Promise<DnsAnswer<TlsaRecord>>
}

/** Whether DANE is to be looked for at the domain's hosts; 'unknown' while DNS fails. */
export type DaneDomain = 'yes' | 'no' | 'unknown'

export type DaneHost =
  | { readonly kind: 'none' }
  /** There are TLSA records, and `usable` among them, of each kind the strongest; `base` is the name that they are at. */
  | { readonly kind: 'records'; readonly base: string; readonly usable: readonly TlsaRecord[] }
  | { readonly kind: 'unknown'; readonly text: string }

const NONE: DaneHost = { kind: 'none' }
/** More than this nobody publishes for one host. */
const MAX_RECORDS = 30

export async function lookUpDomainDane(dns: DaneDns, domain: string): Promise<DaneDomain> {
  const mx = await dns.mx(domain)
  if (mx.kind === 'failed') return 'unknown'
  return mx.isSecure === true ? 'yes' : 'no'
}

/** Addresses first: in an unsigned zone TLSA records are not asked for, a question that some name servers meet with silence (RFC 7672 2.2.2). */
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
  return { kind: 'unknown', text: `what TLS ${name} asks for cannot be looked up (DANE): ${text}` }
}
