/**
 * DNS with the AD bit of a validating resolver: the queries of DANE (RFC 7672 2.1). Queries the servers in turn, in
 * two rounds; a server that fails or does not answer is skipped. A bogus answer arrives as SERVFAIL, and that is
 * `failed`: temporary, and never "no record". The operator decides whether to trust the AD bit of these servers
 * (DNSSEC_RESOLVER).
 */
import { Resolver } from 'node:dns/promises'
import type { Answer, DecodedPacket, RecordType } from 'dns-packet'
import type { TimedDnsAnswer, TlsaRecord } from '#src/net/dns-answer.ts'
import { exchange, parseServer } from './dns-exchange.ts'

export interface SecureDns {
  /** The names of MX hosts. */
  mx(name: string): Promise<TimedDnsAnswer<string>>
  /** The name that owns the addresses after all aliases; from the A records, or AAAA where there are none. */
  owner(host: string): Promise<TimedDnsAnswer<string>>
  tlsa(name: string): Promise<TimedDnsAnswer<TlsaRecord>>
}

export interface SecureDnsOptions {
  /** ip:port; null = those of the system. */
  readonly servers: readonly string[] | null
  /** Of one try. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 2000
const ROUNDS = 2
/** RFC 1035 4.1.1 */
const RCODE_MASK = 15
const [NOERROR, NXDOMAIN] = [0, 3]
const RCODE_NAMES: Readonly<Record<number, string>> = { 1: 'FORMERR', 2: 'SERVFAIL', 4: 'NOTIMP', 5: 'REFUSED' }

export function openSecureDns({ servers, timeoutMs = TIMEOUT_MS }: SecureDnsOptions): SecureDns {
  const dnsServers = (servers ?? new Resolver().getServers()).map(parseServer)

  async function ask<T>(name: string, type: RecordType, pick: (answer: Answer) => T[]): Promise<TimedDnsAnswer<T>> {
    let last: TimedDnsAnswer<T> = { kind: 'failed', text: 'no DNS server is configured' }
    for (const server of Array.from({ length: ROUNDS }, () => dnsServers).flat()) {
      const packet = await exchange({ name, type }, server, timeoutMs)
      last = typeof packet === 'string' ? { kind: 'failed', text: packet } : parseResponse(packet, type, pick)
      if (last.kind !== 'failed') return last
    }
    return last
  }

  async function owner(host: string): Promise<TimedDnsAnswer<string>> {
    const ipv4 = await ask(host, 'A', (answer) => [answer.name.toLowerCase()])
    return ipv4.kind === 'nothing' ? ask(host, 'AAAA', (answer) => [answer.name.toLowerCase()]) : ipv4
  }

  return {
    mx: (name) => ask(name, 'MX', (answer) => (answer.type === 'MX' ? [answer.data.exchange.toLowerCase()] : [])),
    owner,
    tlsa: (name) => ask(name, 'TLSA', (answer) => (answer.type === 'TLSA' ? [answer.data] : [])),
  }
}

function parseResponse<T>(packet: DecodedPacket, type: RecordType, pick: (answer: Answer) => T[]): TimedDnsAnswer<T> {
  const isSecure = packet.flag_ad
  const rcode = (packet.flags ?? 0) & RCODE_MASK
  if (rcode === NXDOMAIN) return { kind: 'nothing', isName: false, isSecure }
  if (rcode !== NOERROR) return { kind: 'failed', text: RCODE_NAMES[rcode] ?? `RCODE ${rcode}` }
  const answers = (packet.answers ?? []).filter((answer) => answer.type === type)
  const records = answers.flatMap(pick)
  if (records.length === 0) return { kind: 'nothing', isName: true, isSecure }
  return {
    kind: 'found',
    records,
    isSecure,
    ttlSeconds: Math.min(...answers.map((answer) => ('ttl' in answer ? (answer.ttl ?? 0) : 0))),
  }
}
