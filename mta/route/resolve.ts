/**
 * DNS for the router: lookups of MX records and addresses through a cache, with bounded concurrency; every result is
 * a value.
 */
import type { MxRecord } from 'node:dns'
import type { Config } from '#config/load.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { TimedDnsAnswer, DnsAnswer, TlsaRecord } from '#src/net/dns-answer.ts'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import { openSecureDns } from './secure-dns.ts'
import { askIpv4, askIpv6, askMx, askSystem, askTxt, openUpstream } from './upstream.ts'

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
  const upstream = openUpstream({ servers: config.dnsServers, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
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
    mx: cached((name) => upstream.ask(askMx, name)),
    ipv4: cached((name) => upstream.ask(askIpv4, name)),
    ipv6: cached((name) => upstream.ask(askIpv6, name)),
    txt: cached((name) => upstream.ask(askTxt, name)),
    system: cached(askSystem, SYSTEM_CACHE_SECONDS),
    secure: {
      mx: cached((name) => secure.mx(name)),
      owner: cached((name) => secure.owner(name)),
      tlsa: cached((name) => secure.tlsa(name)),
    },
    stop: () => upstream.stop(),
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
