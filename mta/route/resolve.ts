/**
 * DNS for the router: lookups of MX records and addresses through a cache, with bounded concurrency. dns-servers.ts
 * queries the servers; one broken server of several costs time, not mail. Every result is a value; a query without an
 * answer is `failed`, which is always temporary.
 */
import type { MxRecord } from 'node:dns'
import { lookup as lookUpBySystem } from 'node:dns/promises'
import type { Answer } from 'dns-packet'
import type { Config } from '#config/load.ts'
import type { Clock } from '#src/platform/clock.ts'
import {
  printableName,
  type DnsAnswer,
  type DnsRecords,
  type TimedDnsAnswer,
  type TlsaRecord,
} from '#src/net/dns-answer.ts'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import type { DnsQuestion } from './dns-exchange.ts'
import { openDnsServers, type DnsServers } from './dns-servers.ts'
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

const OVERLOADED = { kind: 'failed', text: 'too many DNS queries are waiting' } as const

export function createResolver({
  config,
  clock,
  timeoutMs,
  maxConcurrent = MAX_CONCURRENT,
}: ResolverOptions): Resolver {
  const servers = openDnsServers(config.dnsServers, timeoutMs)
  const limited = createSemaphore(maxConcurrent, MAX_WAITING)
  const secure = openSecureDns(servers)
  const cached = <T>(
    ask: (name: string) => Promise<TimedDnsAnswer<T>>,
    maxSeconds = MAX_FOUND_SECONDS,
  ): ((name: string) => Promise<DnsAnswer<T>>) =>
    createLookupCache({
      clock,
      maxSeconds,
      ask: async (name) => (await limited(() => ask(name))) ?? OVERLOADED,
    })
  return {
    mx: cached((name) => askFor(servers, { name, type: 'MX' }, pickMx), config.dnsMxCacheSeconds),
    ipv4: cached((name) => askFor(servers, { name, type: 'A' }, pickAddress)),
    ipv6: cached((name) => askFor(servers, { name, type: 'AAAA' }, pickAddress)),
    txt: cached((name) => askFor(servers, { name, type: 'TXT' }, pickText)),
    system: cached(askSystem),
    secure: {
      mx: cached((name) => secure.mx(name), config.dnsMxCacheSeconds),
      owner: cached((name) => secure.owner(name)),
      tlsa: cached((name) => secure.tlsa(name)),
    },
    stop: () => servers.stop(),
  }
}

export interface CacheOptions<T> {
  readonly clock: Clock
  readonly ask: (name: string) => Promise<TimedDnsAnswer<T>>
  /** The longest time for found records. */
  readonly maxSeconds?: number
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
  maxSeconds = MAX_FOUND_SECONDS,
  max = MAX_ENTRIES,
}: CacheOptions<T>): (name: string) => Promise<DnsAnswer<T>> {
  const entries = new Map<string, Entry<T>>()
  const inFlight = new Map<string, Promise<DnsAnswer<T>>>()

  async function queryAndCache(name: string): Promise<DnsAnswer<T>> {
    const answer = await ask(name)
    const failures = answer.kind === 'failed' ? (entries.get(name)?.failures ?? 0) + 1 : 0
    const lookup = lookupOf(answer)
    entries.delete(name)
    entries.set(name, { lookup, failures, until: clock.now() + 1000 * secondsOf(answer, failures, maxSeconds) })
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

function secondsOf<T>(answer: TimedDnsAnswer<T>, failures: number, maxSeconds: number): number {
  if (answer.kind === 'failed') return Math.min(FIRST_FAILED_SECONDS * 2 ** (failures - 1), MAX_FAILED_SECONDS)
  if (answer.kind === 'nothing') return NOTHING_SECONDS
  return Math.min(Math.max(answer.ttlSeconds ?? 0, MIN_FOUND_SECONDS), maxSeconds)
}

/** Without the AD bit, which only the queries of DANE may use. */
async function askFor<T>(
  servers: DnsServers,
  question: DnsQuestion,
  pick: (answer: Answer) => T[],
): Promise<TimedDnsAnswer<T>> {
  const answer = await servers.ask(question, pick)
  if (answer.kind === 'failed') return answer
  if (answer.kind === 'nothing') return { kind: 'nothing', isName: answer.isName }
  return { kind: 'found', records: answer.records, ttlSeconds: answer.ttlSeconds }
}

const pickMx = (answer: Answer): MxRecord[] =>
  answer.type === 'MX' ? [{ exchange: hostOf(answer.data.exchange), priority: answer.data.preference ?? 0 }] : []

/** The root, of a null MX (RFC 7505), is the empty name. */
function hostOf(name: string): string {
  return name === '.' ? '' : printableName(name)
}

const pickAddress = (answer: Answer): string[] => (answer.type === 'A' || answer.type === 'AAAA' ? [answer.data] : [])
const pickText = (answer: Answer): string[] => (answer.type === 'TXT' ? [[answer.data].flat().join('')] : [])

/**
 * The system's answer for a name (hosts file, search domains): for names from the operator's settings, not from DNS.
 */
async function askSystem(name: string): Promise<TimedDnsAnswer<string>> {
  return toAnswer(async () => ({
    records: (await lookUpBySystem(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
    ttlSeconds: null,
  }))
}

async function toAnswer<T>(query: () => Promise<DnsRecords<T>>): Promise<TimedDnsAnswer<T>> {
  try {
    const answer = await query()
    return answer.records.length === 0 ? { kind: 'nothing', isName: true } : { kind: 'found', ...answer }
  } catch (error) {
    const code =
      error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error)
    // getaddrinfo does not distinguish a missing name from a name without addresses
    return code === 'ENOTFOUND' ? { kind: 'nothing', isName: false } : { kind: 'failed', text: code }
  }
}
