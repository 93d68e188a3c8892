/**
 * DNS with the AD bit of a validating resolver: the queries of DANE (RFC 7672 2.1). A bogus answer arrives as SERVFAIL,
 * and that is `failed`: temporary, and never "no record". The operator decides whether to trust the AD bit of these
 * servers (DNSSEC_RESOLVER).
 */
import type { Answer, RecordType } from 'dns-packet'
import { printableName, type TimedDnsAnswer, type TlsaRecord } from '#src/net/dns-answer.ts'
import type { DnsServers } from './dns-servers.ts'

export interface SecureDns {
  /** The names of MX hosts. */
  mx(name: string): Promise<TimedDnsAnswer<string>>
  /** The name that owns the addresses after all aliases; from the A records, or AAAA where there are none. */
  owner(host: string): Promise<TimedDnsAnswer<string>>
  tlsa(name: string): Promise<TimedDnsAnswer<TlsaRecord>>
}

export function openSecureDns(servers: DnsServers): SecureDns {
  const ask = <T>(name: string, type: RecordType, pick: (answer: Answer) => T[]): Promise<TimedDnsAnswer<T>> =>
    servers.ask({ name, type }, pick)

  async function owner(host: string): Promise<TimedDnsAnswer<string>> {
    const ipv4 = await ask(host, 'A', (answer) => [answer.name.toLowerCase()])
    return ipv4.kind === 'nothing' ? ask(host, 'AAAA', (answer) => [answer.name.toLowerCase()]) : ipv4
  }

  return {
    mx: (name) =>
      ask(name, 'MX', (answer) => (answer.type === 'MX' ? [printableName(answer.data.exchange.toLowerCase())] : [])),
    owner,
    tlsa: (name) => ask(name, 'TLSA', (answer) => (answer.type === 'TLSA' ? [answer.data] : [])),
  }
}
