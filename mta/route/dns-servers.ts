/**
 * Queries to the DNS servers: each in turn, starting with the one that answered last, in two rounds. Each try waits the
 * full time, however fast other answers are: c-ares, which node uses, shortens its timeout to a multiple of the recent
 * answers, and so loses a slow answer among many fast ones. Only an answer ends the search: a server that does not
 * answer, refuses or fails is skipped. Every result is a value; `failed` is always temporary
 * (docs/decisions/027-own-dns-queries.md).
 */
import { Resolver } from 'node:dns/promises'
import type { Answer, DecodedPacket } from 'dns-packet'
import type { TimedDnsAnswer } from '#src/net/dns-answer.ts'
import { type DnsQuestion, exchange, parseServer, type PendingExchanges } from './dns-exchange.ts'

export interface DnsServers {
  /** `pick` returns the record of an answer of the type asked for. The result says whether it is secure. */
  ask<T>(question: DnsQuestion, pick: (answer: Answer) => T[]): Promise<TimedDnsAnswer<T>>
  /** Running and later queries fail. */
  stop(): void
}

const TIMEOUT_MS = 2000
const ROUNDS = 2
/** RFC 1035 4.1.1 */
const RCODE_MASK = 15
const [NOERROR, NXDOMAIN] = [0, 3]
const RCODE_NAMES: Readonly<Record<number, string>> = { 1: 'FORMERR', 2: 'SERVFAIL', 4: 'NOTIMP', 5: 'REFUSED' }

/** `addresses`: ip:port; null = those of the system. `timeoutMs`: of one try. */
export function openDnsServers(addresses: readonly string[] | null, timeoutMs = TIMEOUT_MS): DnsServers {
  const list = (): ReturnType<typeof parseServer>[] => (addresses ?? new Resolver().getServers()).map(parseServer)
  const pending: PendingExchanges = new Set()
  let servers = list()
  let preferred = 0
  let isStopped = false

  async function ask<T>(question: DnsQuestion, pick: (answer: Answer) => T[]): Promise<TimedDnsAnswer<T>> {
    if (!isQueryable(question.name)) return { kind: 'nothing', isName: false }
    const order = [...servers.slice(preferred), ...servers.slice(0, preferred)]
    let last: TimedDnsAnswer<T> = { kind: 'failed', text: 'no DNS server is configured' }
    for (const server of Array.from({ length: ROUNDS }, () => order).flat()) {
      if (isStopped) return { kind: 'failed', text: 'stopped' }
      const packet = await exchange(question, server, { timeoutMs, pending })
      last = typeof packet === 'string' ? { kind: 'failed', text: packet } : parseResponse(packet, question, pick)
      if (last.kind !== 'failed') {
        preferred = Math.max(servers.indexOf(server), 0)
        return last
      }
    }
    // the machine may have moved to another network, where other servers answer
    if (addresses === null) servers = list()
    return last
  }

  return {
    ask,
    stop: () => {
      isStopped = true
      for (const cancel of pending) cancel()
    },
  }
}

/** RFC 1035 2.3.4: a name that no query can carry does not exist. */
function isQueryable(name: string): boolean {
  const bare = name.replace(/\.$/, '')
  const lengths = bare.split('.').map((label) => Buffer.byteLength(label))
  return Buffer.byteLength(bare) <= 253 && lengths.every((length) => length > 0 && length <= 63)
}

function parseResponse<T>(
  packet: DecodedPacket,
  { type }: DnsQuestion,
  pick: (answer: Answer) => T[],
): TimedDnsAnswer<T> {
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
