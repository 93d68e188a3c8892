/**
 * DNS for the router: cached lookups of MX records and addresses, with bounded concurrency; every result is a value.
 */
import type { MxRecord } from 'node:dns'
import type { Config } from '#config/load.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { TimedDnsAnswer, DnsAnswer, TlsaRecord } from '#src/net/dns-answer.ts'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import { createLookupCache } from './lookup-cache.ts'
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
