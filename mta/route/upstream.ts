/**
 * Queries to the DNS servers, one at a time: each server in turn, starting with the one that answered last, in two
 * rounds. Only an answer ends the search: a server that does not answer, refuses or fails is skipped, so one broken
 * server of several costs time, not mail. Every result is a value; a query without an answer is `failed`, which is
 * always temporary.
 */
import { lookup, Resolver } from 'node:dns/promises'
import type { MxRecord } from 'node:dns'
import type { TimedDnsAnswer, DnsRecords } from '#src/net/dns-answer.ts'

type DnsQuery<T> = (server: Resolver, name: string) => Promise<DnsRecords<T>>

/** node gives no TTL with MX records. */
export const askMx: DnsQuery<MxRecord> = async (server, name) => ({
  records: await server.resolveMx(name),
  ttlSeconds: null,
})
export const askIpv4: DnsQuery<string> = async (server, name) => addresses(await server.resolve4(name, { ttl: true }))
export const askTxt: DnsQuery<string> = async (server, name) => ({
  records: (await server.resolveTxt(name)).map((parts) => parts.join('')),
  ttlSeconds: null,
})
export const askIpv6: DnsQuery<string> = async (server, name) => addresses(await server.resolve6(name, { ttl: true }))

export interface Upstream {
  ask<T>(question: DnsQuery<T>, name: string): Promise<TimedDnsAnswer<T>>
  stop(): void
}

export interface UpstreamOptions {
  /** ip:port; null = those of the system. */
  readonly servers: readonly string[] | null
  /** Of one try. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 2000
const ROUNDS = 2

export function openUpstream({ servers, timeoutMs = TIMEOUT_MS }: UpstreamOptions): Upstream {
  let resolvers = openResolvers(servers, timeoutMs)
  let preferred = 0
  let isStopped = false

  async function ask<T>(question: DnsQuery<T>, name: string): Promise<TimedDnsAnswer<T>> {
    const order = [...resolvers.slice(preferred), ...resolvers.slice(0, preferred)]
    let last: TimedDnsAnswer<T> = { kind: 'failed', text: 'no DNS server is configured' }
    for (const resolver of Array.from({ length: ROUNDS }, () => order).flat()) {
      if (isStopped) return { kind: 'failed', text: 'stopped' }
      last = await tryOne(question, resolver, name)
      if (last.kind !== 'failed') {
        preferred = Math.max(resolvers.indexOf(resolver), 0)
        return last
      }
    }
    // the machine may have moved to another network, where other servers answer
    if (servers === null) resolvers = openResolvers(null, timeoutMs)
    return last
  }

  function stop(): void {
    isStopped = true
    for (const resolver of resolvers) resolver.cancel()
  }

  return { ask, stop }
}

/**
 * The system's answer for a name (hosts file, search domains): for names from the operator's settings, not from DNS.
 */
export async function askSystem(name: string): Promise<TimedDnsAnswer<string>> {
  return toAnswer(async () => ({
    records: (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
    ttlSeconds: null,
  }))
}

function openResolvers(servers: readonly string[] | null, timeoutMs: number): Resolver[] {
  return (servers ?? new Resolver().getServers()).map((server) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 1, maxTimeout: timeoutMs })
    resolver.setServers([server])
    return resolver
  })
}

function tryOne<T>(question: DnsQuery<T>, resolver: Resolver, name: string): Promise<TimedDnsAnswer<T>> {
  return toAnswer(() => question(resolver, name))
}

/**
 * Codes of c-ares and getaddrinfo for "no record"; all others are failures. A name that no query can carry counts as
 * absent.
 */
const NOTHING: Readonly<Record<string, { readonly kind: 'nothing'; readonly isName: boolean }>> = {
  ENODATA: { kind: 'nothing', isName: true },
  ENOTFOUND: { kind: 'nothing', isName: false },
  EBADNAME: { kind: 'nothing', isName: false },
}

const FAILURE_TEXTS: Readonly<Record<string, string>> = {
  ESERVFAIL: 'SERVFAIL',
  EREFUSED: 'REFUSED',
  ETIMEOUT: 'no answer in time',
  ECONNREFUSED: 'no DNS server there',
  EBADRESP: 'the answer cannot be read',
}

async function toAnswer<T>(query: () => Promise<DnsRecords<T>>): Promise<TimedDnsAnswer<T>> {
  try {
    const answer = await query()
    // a CNAME that leads to no record arrives as an empty list
    return answer.records.length === 0 ? { kind: 'nothing', isName: true } : { kind: 'found', ...answer }
  } catch (error) {
    const code =
      error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error)
    return NOTHING[code] ?? { kind: 'failed', text: FAILURE_TEXTS[code] ?? code }
  }
}

function addresses(records: readonly { readonly address: string; readonly ttl: number }[]): DnsRecords<string> {
  return { records: records.map(({ address }) => address), ttlSeconds: Math.min(...records.map(({ ttl }) => ttl)) }
}
