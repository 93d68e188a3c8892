/**
 * DNS for the router: lookups of MX records and addresses through a cache, with bounded concurrency, and the queries to
 * the DNS servers. A query asks each server in turn, starting with the one that answered last, in two rounds. Only an
 * answer ends the search: a server that does not answer, refuses or fails is skipped, so one broken server of several
 * costs time, not mail. Every result is a value; a query without an answer is `failed`, which is always temporary.
 */
import type { MxRecord } from 'node:dns'
import { lookup as lookUpBySystem, Resolver as DnsServer } from 'node:dns/promises'
import type { Config } from '#config/load.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { DnsAnswer, DnsRecords, TimedDnsAnswer, TlsaRecord } from '#src/net/dns-answer.ts'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import { openSecureDns } from './secure-dns.ts'

export interface Resolver {
  mx(domain: string): Promise<DnsAnswer<MxRecord>>
  ipv4(host: string): Promise<DnsAnswer<string>>
  ipv6(host: string): Promise<DnsAnswer<string>>
  txt(name: string): Promise<DnsAnswer<string>>
  /** Both families, from the system's resolver. */
  system(host: string): Promise<DnsAnswer<string>>
  /** Answers with the AD bit of a validating resolver. */
  readonly secure: {
    mx(domain: string): Promise<DnsAnswer<string>>
    owner(host: string): Promise<DnsAnswer<string>>
    tlsa(name: string): Promise<DnsAnswer<TlsaRecord>>
  }
  stop(): void
}

export interface ResolverOptions {
  readonly config: Pick<Config, 'dnsServers' | 'dnsMxCacheSeconds'>
  readonly clock: Clock
  readonly timeoutMs?: number
  readonly maxConcurrent?: number
}

/** Concurrent queries; more wait. A claim of many domains must not flood the DNS server. */
const MAX_CONCURRENT = 100
/** Beyond this a lookup fails: that is better than an answer after minutes. */
const MAX_WAITING = 100_000
const SYSTEM_CACHE_SECONDS = 30

const OVERLOADED = { kind: 'failed', text: 'too many DNS queries are waiting' } as const

export function createResolver({
  config,
  clock,
  timeoutMs,
  maxConcurrent = MAX_CONCURRENT,
}: ResolverOptions): Resolver {
  const servers = openServers(config.dnsServers, timeoutMs)
  const limited = createSemaphore(maxConcurrent, MAX_WAITING)
  const secure = openSecureDns({ servers: config.dnsServers, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  const fixedSeconds = config.dnsMxCacheSeconds
  const cached = <T>(
    ask: (name: string) => Promise<TimedDnsAnswer<T>>,
    seconds = fixedSeconds,
  ): ((name: string) => Promise<DnsAnswer<T>>) =>
    createLookupCache({
      clock,
      fixedSeconds: seconds,
      ask: async (name) => (await limited(() => ask(name))) ?? OVERLOADED,
    })
  return {
    mx: cached((name) => servers.ask(askMx, name)),
    ipv4: cached((name) => servers.ask(askIpv4, name)),
    ipv6: cached((name) => servers.ask(askIpv6, name)),
    txt: cached((name) => servers.ask(askTxt, name)),
    system: cached(askSystem, SYSTEM_CACHE_SECONDS),
    secure: {
      mx: cached((name) => secure.mx(name)),
      owner: cached((name) => secure.owner(name)),
      tlsa: cached((name) => secure.tlsa(name)),
    },
    stop: () => servers.stop(),
  }
}

export interface CacheOptions<T> {
  readonly clock: Clock
  readonly ask: (name: string) => Promise<TimedDnsAnswer<T>>
  /** Where DNS gives no TTL. */
  readonly fixedSeconds: number
  readonly max?: number
}

const MAX_ENTRIES = 20_000
const MIN_FOUND_SECONDS = 30
const MAX_FOUND_SECONDS = 3600
const NOTHING_SECONDS = 60
const FIRST_FAILED_SECONDS = 5
const MAX_FAILED_SECONDS = 30

interface Entry<T> {
  readonly lookup: DnsAnswer<T>
  readonly until: number
  /** Failures in a row. */
  readonly failures: number
}

/**
 * Returns the lookup with a cache in front: found records for their TTL within bounds, empty results for a minute,
 * failures for seconds (longer after each failure in a row), so that a dead name server is not queried for every
 * message. Concurrent lookups of one name share one query. The least recently used entries are evicted when it is
 * full.
 */
export function createLookupCache<T>({
  clock,
  ask,
  fixedSeconds,
  max = MAX_ENTRIES,
}: CacheOptions<T>): (name: string) => Promise<DnsAnswer<T>> {
  const entries = new Map<string, Entry<T>>()
  const inFlight = new Map<string, Promise<DnsAnswer<T>>>()

  async function queryAndCache(name: string): Promise<DnsAnswer<T>> {
    const answer = await ask(name)
    const failures = answer.kind === 'failed' ? (entries.get(name)?.failures ?? 0) + 1 : 0
    const lookup = lookupOf(answer)
    entries.delete(name)
    entries.set(name, { lookup, failures, until: clock.now() + 1000 * secondsOf(answer, failures, fixedSeconds) })
    const [oldest] = entries.keys()
    if (entries.size > max && oldest !== undefined) entries.delete(oldest)
    return lookup
  }

  return async (name) => {
    const entry = entries.get(name)
    if (entry !== undefined && clock.now() < entry.until) {
      entries.delete(name)
      entries.set(name, entry)
      return entry.lookup
    }
    const pending = inFlight.get(name) ?? queryAndCache(name).finally(() => inFlight.delete(name))
    inFlight.set(name, pending)
    return pending
  }
}

function lookupOf<T>(answer: TimedDnsAnswer<T>): DnsAnswer<T> {
  if (answer.kind !== 'found') return answer
  return {
    kind: 'found',
    records: answer.records,
    ...(answer.isSecure === undefined ? {} : { isSecure: answer.isSecure }),
  }
}

function secondsOf<T>(answer: TimedDnsAnswer<T>, failures: number, fixedSeconds: number): number {
  if (answer.kind === 'failed') return Math.min(FIRST_FAILED_SECONDS * 2 ** (failures - 1), MAX_FAILED_SECONDS)
  if (answer.kind === 'nothing') return NOTHING_SECONDS
  if (answer.ttlSeconds === null) return fixedSeconds
  return Math.min(Math.max(answer.ttlSeconds, MIN_FOUND_SECONDS), MAX_FOUND_SECONDS)
}

type DnsQuery<T> = (server: DnsServer, name: string) => Promise<DnsRecords<T>>

/** node gives no TTL with MX records. */
const askMx: DnsQuery<MxRecord> = async (server, name) => ({
  records: await server.resolveMx(name),
  ttlSeconds: null,
})
const askIpv4: DnsQuery<string> = async (server, name) => toRecords(await server.resolve4(name, { ttl: true }))
const askTxt: DnsQuery<string> = async (server, name) => ({
  records: (await server.resolveTxt(name)).map((parts) => parts.join('')),
  ttlSeconds: null,
})
const askIpv6: DnsQuery<string> = async (server, name) => toRecords(await server.resolve6(name, { ttl: true }))

const TIMEOUT_MS = 2000
const ROUNDS = 2

interface DnsServers {
  ask<T>(question: DnsQuery<T>, name: string): Promise<TimedDnsAnswer<T>>
  stop(): void
}

/** `addresses`: ip:port; null = those of the system. `timeoutMs`: of one try. */
function openServers(addresses: readonly string[] | null, timeoutMs = TIMEOUT_MS): DnsServers {
  let servers = listServers(addresses, timeoutMs)
  let preferred = 0
  let isStopped = false

  async function ask<T>(question: DnsQuery<T>, name: string): Promise<TimedDnsAnswer<T>> {
    const order = [...servers.slice(preferred), ...servers.slice(0, preferred)]
    let last: TimedDnsAnswer<T> = { kind: 'failed', text: 'no DNS server is configured' }
    for (const server of Array.from({ length: ROUNDS }, () => order).flat()) {
      if (isStopped) return { kind: 'failed', text: 'stopped' }
      last = await toAnswer(() => question(server, name))
      if (last.kind !== 'failed') {
        preferred = Math.max(servers.indexOf(server), 0)
        return last
      }
    }
    // the machine may have moved to another network, where other servers answer
    if (addresses === null) servers = listServers(null, timeoutMs)
    return last
  }

  function stop(): void {
    isStopped = true
    for (const server of servers) server.cancel()
  }

  return { ask, stop }
}

/**
 * The system's answer for a name (hosts file, search domains): for names from the operator's settings, not from DNS.
 */
async function askSystem(name: string): Promise<TimedDnsAnswer<string>> {
  return toAnswer(async () => ({
    records: (await lookUpBySystem(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
    ttlSeconds: null,
  }))
}

function listServers(addresses: readonly string[] | null, timeoutMs: number): DnsServer[] {
  return (addresses ?? new DnsServer().getServers()).map((address) => {
    const server = new DnsServer({ timeout: timeoutMs, tries: 1, maxTimeout: timeoutMs })
    server.setServers([address])
    return server
  })
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

function toRecords(records: readonly { readonly address: string; readonly ttl: number }[]): DnsRecords<string> {
  return { records: records.map(({ address }) => address), ttlSeconds: Math.min(...records.map(({ ttl }) => ttl)) }
}
