/**
 * TXT records from DNS_SERVERS, in sandbox mode from the DNS server of the sandbox, else from the resolvers of the system.
 * "There is none" and "nobody answered" are different values.
 */
import { Resolver } from 'node:dns/promises'
import type { Config } from '#config/load.ts'

export type TxtAnswer =
  /** One text for each record, its strings joined (RFC 6376 3.6.2.2); none for a name without TXT and for no such name. */
  | { readonly kind: 'answered'; readonly texts: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: string }

export type TxtLookup = (name: string) => Promise<TxtAnswer>

const TIMEOUT_MS = 3000
const TRIES = 2
const NOTHING = new Set(['ENODATA', 'ENOTFOUND'])
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ETIMEOUT', 'no DNS server answered in time'],
  ['ECONNREFUSED', 'no DNS server can be reached'],
  ['ESERVFAIL', 'the DNS server failed (SERVFAIL)'],
  ['EREFUSED', 'the DNS server refused'],
])

export function createTxtLookup(config: Pick<Config, 'dnsServers' | 'isSandbox' | 'sandboxDnsPort'>): TxtLookup {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  if (config.isSandbox) resolver.setServers([`127.0.0.1:${config.sandboxDnsPort}`])
  else if (config.dnsServers !== null) resolver.setServers(config.dnsServers)
  return async (name) => {
    try {
      const records = await resolver.resolveTxt(name)
      return { kind: 'answered', texts: records.map((strings) => strings.join('')) }
    } catch (error) {
      const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error)
      return NOTHING.has(code) ? { kind: 'answered', texts: [] } : { kind: 'failed', reason: REASONS.get(code) ?? `DNS: ${code}` }
    }
  }
}
