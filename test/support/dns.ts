/**
 * A DNS server for tests. Its zone is an object that a test may change at any time, also to inject faults. It answers
 * as a resolver does: it follows CNAMEs, and distinguishes a name without such records (NODATA) from a name that does
 * not exist (NXDOMAIN).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, DecodedPacket, Packet, RecordType } from 'dns-packet'
import { AUTHENTIC_DATA, TRUNCATED_RESPONSE } from 'dns-packet'
import type { TlsaRecord } from '#src/net/dns-answer.ts'
import { answerTo, listenDns, type DnsTransport, type Responder } from '#mta/sandbox/dns-listener.ts'

export type DnsFault = 'servfail' | 'refused' | 'nxdomain' | 'silence' | 'truncate' | 'wrong-id' | 'wrong-question'

export interface ZoneRecords {
  readonly MX?: readonly (readonly [preference: number, exchange: string])[]
  readonly A?: readonly string[]
  readonly AAAA?: readonly string[]
  readonly TXT?: readonly string[]
  readonly CNAME?: string
  readonly NS?: readonly string[]
  readonly PTR?: readonly string[]
  readonly TLSA?: readonly TlsaRecord[]
  /** Signed and valid: the AD bit is set in answers to queries that request it. The target of a CNAME must be, too. */
  readonly isSecure?: boolean
  /** Seconds, for all records; 300 by default. */
  readonly ttl?: number
  /** How long the answer takes. */
  readonly delayMs?: number
  /** For all types, or for some. */
  readonly fault?: DnsFault | Partial<Record<string, DnsFault>>
}

/** By lower-case name; `*` answers for all names that are not listed. */
export type Zone = Record<string, ZoneRecords>

export interface TestDns {
  readonly port: number
  /** For DNS_SERVERS. */
  readonly server: string
  readonly zone: Zone
  /** All queries so far, in order. */
  readonly queries: { readonly name: string; readonly type: string; readonly via: DnsTransport }[]
  /** The maximum number of concurrent queries. */
  maxConcurrent(): number
  stop(): Promise<void>
}

/** Starts it, by default on loopback, on a port that is free. */
export async function startDns(zone: Zone, { host = '127.0.0.1', port = 0 } = {}): Promise<TestDns> {
  const queries: TestDns['queries'] = []
  let [waiting, max] = [0, 0]
  const respond: Responder = async (query, via) => {
    const [question] = query.questions ?? []
    const name = question?.name.toLowerCase() ?? ''
    const type = question?.type ?? 'A'
    queries.push({ name, type, via })
    max = Math.max(max, ++waiting)
    const { delayMs } = zone[name] ?? zone['*'] ?? {}
    if (delayMs !== undefined) await sleep(delayMs)
    waiting--
    return answer(zone, query, { name, type, via })
  }
  const listener = await listenDns(port, respond, host)
  return {
    port: listener.port,
    server: `${host}:${listener.port}`,
    zone,
    queries,
    maxConcurrent: () => max,
    stop: () => listener.stop(),
  }
}

interface DnsQuestion {
  readonly name: string
  readonly type: RecordType
  readonly via: DnsTransport
}

function answer(zone: Zone, query: DecodedPacket, { name, type, via }: DnsQuestion): Packet | null {
  const fault = faultOf(zone, name, type)
  const correct = correctAnswer(zone, query, name, type)
  const packet =
    query.flag_ad && isSecure(zone, name) ? { ...correct, flags: (correct.flags ?? 0) | AUTHENTIC_DATA } : correct
  if (fault === undefined) return packet
  const id = packet.id ?? 0
  const faulty: Record<DnsFault, () => Packet | null> = {
    servfail: () => answerTo(query, 'SERVFAIL'),
    refused: () => answerTo(query, 'REFUSED'),
    nxdomain: () => answerTo(query, 'NXDOMAIN'),
    silence: () => null,
    truncate: () =>
      via === 'tcp' ? packet : { ...packet, answers: [], flags: (packet.flags ?? 0) | TRUNCATED_RESPONSE },
    'wrong-id': () => ({ ...packet, id: (id + 1) & 0xffff }),
    'wrong-question': () => ({ ...packet, questions: [{ name: `not-${name}`, type }] }),
  }
  return faulty[fault]()
}

function faultOf(zone: Zone, name: string, type: string): DnsFault | undefined {
  const { fault } = zone[name] ?? zone['*'] ?? {}
  return typeof fault === 'object' ? fault[type] : fault
}

/** The answer for a missing name is secure when its parent zone is. */
function isSecure(zone: Zone, name: string): boolean {
  const records = zone[name]
  if (records !== undefined)
    return records.isSecure === true && (records.CNAME === undefined || isSecure(zone, records.CNAME.toLowerCase()))
  const parent = name.slice(name.indexOf('.') + 1)
  return name.includes('.') && isSecure(zone, parent)
}

function correctAnswer(zone: Zone, query: DecodedPacket, name: string, type: RecordType): Packet {
  const answers: Answer[] = []
  let current = name
  for (let links = 0; links < 8; links++) {
    const records = zone[current] ?? zone['*']
    if (records === undefined) return answerTo(query, 'NXDOMAIN', answers)
    if (records.CNAME === undefined || type === 'CNAME')
      return answerTo(query, 'NOERROR', [...answers, ...recordsOf(records, current, type)])
    answers.push({ name: current, type: 'CNAME', ttl: records.ttl ?? 300, data: records.CNAME })
    current = records.CNAME.toLowerCase()
  }
  return answerTo(query, 'SERVFAIL')
}

function recordsOf(records: ZoneRecords, name: string, type: RecordType): Answer[] {
  const ttl = records.ttl ?? 300
  if (type === 'MX')
    return (records.MX ?? []).map(([preference, exchange]) => ({ name, type, ttl, data: { preference, exchange } }))
  if (type === 'TXT')
    return (records.TXT ?? []).map((text) => ({ name, type, ttl, data: text.match(/.{1,255}/gs) ?? [''] }))
  if (type === 'CNAME') return records.CNAME === undefined ? [] : [{ name, type, ttl, data: records.CNAME }]
  if (type === 'NS' || type === 'PTR') return (records[type] ?? []).map((data) => ({ name, type, ttl, data }))
  if (type === 'TLSA') return (records.TLSA ?? []).map((data) => ({ name, type, ttl, data }))
  if (type === 'A' || type === 'AAAA') return (records[type] ?? []).map((data) => ({ name, type, ttl, data }))
  return []
}
