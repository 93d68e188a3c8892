/**
 * DNS as the router sees it: cached lookups of MX and addresses, a bounded number of them at once, every result a value.
 */
import type { MxRecord } from 'node:dns'
import type { Config } from '#config/load.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { Asked, Lookup, TlsaRecord } from '#src/net/dns-answer.ts'
import { createTurnstile } from '#src/concurrency/semaphore.ts'
import { createLookupCache } from './lookup-cache.ts'
import { openSecureDns } from './secure-dns.ts'
import { askIpv4, askIpv6, askMx, askSystem, askTxt, openUpstream } from './upstream.ts'

export interface Resolver {
  mx(domain: string): Promise<Lookup<MxRecord>>
  ipv4(host: string): Promise<Lookup<string>>
  ipv6(host: string): Promise<Lookup<string>>
  txt(name: string): Promise<Lookup<string>>
  /** Both families, by the machine's own means. */
  system(host: string): Promise<Lookup<string>>
  /** With the word of a validating resolver. */
  readonly secure: {
    mx(domain: string): Promise<Lookup<string>>
    owner(host: string): Promise<Lookup<string>>
    tlsa(name: string): Promise<Lookup<TlsaRecord>>
  }
  stop(): void
}

export interface ResolverOptions {
  readonly config: Pick<Config, 'dnsServers' | 'dnsMxCacheSeconds'>
  readonly clock: Clock
  readonly timeoutMs?: number
  readonly atOnce?: number
}

/** Questions under way; more wait. A claim of many domains must not flood the DNS server. */
const AT_ONCE = 100
/** A failed lookup is better than one that is answered in minutes. */
const MOST_WAITING = 100_000
const SYSTEM_SECONDS = 30

const CROWDED = { kind: 'failed', text: 'too many questions are waiting' } as const

export function createResolver({ config, clock, timeoutMs, atOnce = AT_ONCE }: ResolverOptions): Resolver {
  const upstream = openUpstream({ servers: config.dnsServers, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  const inTurn = createTurnstile(atOnce, MOST_WAITING)
  const secure = openSecureDns({ servers: config.dnsServers, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  const fixedSeconds = config.dnsMxCacheSeconds
  const kept = <T>(
    ask: (name: string) => Promise<Asked<T>>,
    seconds = fixedSeconds,
  ): ((name: string) => Promise<Lookup<T>>) =>
    createLookupCache({ clock, fixedSeconds: seconds, ask: async (name) => (await inTurn(() => ask(name))) ?? CROWDED })
  return {
    mx: kept((name) => upstream.ask(askMx, name)),
    ipv4: kept((name) => upstream.ask(askIpv4, name)),
    ipv6: kept((name) => upstream.ask(askIpv6, name)),
    txt: kept((name) => upstream.ask(askTxt, name)),
    system: kept(askSystem, SYSTEM_SECONDS),
    secure: {
      mx: kept((name) => secure.mx(name)),
      owner: kept((name) => secure.owner(name)),
      tlsa: kept((name) => secure.tlsa(name)),
    },
    stop: () => upstream.stop(),
  }
}
