/**
 * What DNS says about the names of a domain, from DNS_SERVERS (in sandbox mode the DNS server of the sandbox), else from the resolvers of
 * the system. "There is none" and "nobody answered" are different values: only the first is evidence. Never throws for what DNS does.
 */
import { Resolver } from 'node:dns/promises'
import type { Config } from '#config/load.ts'

export type Answer<T> =
  /** None for a name without such records, for no such name, and for a name that cannot be. */
  { readonly kind: 'answered'; readonly records: readonly T[] } | { readonly kind: 'failed'; readonly reason: string }

export interface MxRecord {
  readonly exchange: string
  readonly priority: number
}

/** Names in answers are lower case, with no final dot. */
export interface DomainDns {
  /** One text for each record, its strings joined (RFC 6376 3.6.2.2). */
  txt(name: string): Promise<Answer<string>>
  mx(name: string): Promise<Answer<MxRecord>>
  cname(name: string): Promise<Answer<string>>
  ns(name: string): Promise<Answer<string>>
  /** IPv4; IPv6 where there is none. */
  addresses(name: string): Promise<Answer<string>>
  /** Of one family. */
  ofFamily(name: string, family: 4 | 6): Promise<Answer<string>>
  ptr(name: string): Promise<Answer<string>>
}

const TIMEOUT_MS = 3000
const TRIES = 2
const NOTHING = new Set(['ENODATA', 'ENOTFOUND', 'EBADNAME'])
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ETIMEOUT', 'no DNS server answered in time'],
  ['ECONNREFUSED', 'no DNS server can be reached'],
  ['ESERVFAIL', 'the DNS server failed (SERVFAIL)'],
  ['EREFUSED', 'the DNS server refused'],
])

export function createDomainDns(config: Pick<Config, 'dnsServers'>): DomainDns {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  if (config.dnsServers !== null) resolver.setServers(config.dnsServers)
  return {
    txt: (name) => ask(async () => (await resolver.resolveTxt(name)).map((strings) => strings.join(''))),
    mx: (name) =>
      ask(async () => {
        const records = await resolver.resolveMx(name)
        return records.map(({ exchange, priority }) => ({ exchange: plain(exchange), priority }))
      }),
    cname: (name) => ask(async () => (await resolver.resolveCname(name)).map(plain)),
    ns: (name) => ask(async () => (await resolver.resolveNs(name)).map(plain)),
    ofFamily: (name, family) => ask(() => (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name))),
    ptr: (name) => ask(async () => (await resolver.resolvePtr(name)).map(plain)),
    addresses: async (name) => {
      const four = await ask(() => resolver.resolve4(name))
      return four.kind === 'answered' && four.records.length === 0 ? ask(() => resolver.resolve6(name)) : four
    },
  }
}

async function ask<T>(question: () => Promise<T[]>): Promise<Answer<T>> {
  try {
    return { kind: 'answered', records: await question() }
  } catch (error) {
    const code =
      error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error)
    return NOTHING.has(code)
      ? { kind: 'answered', records: [] }
      : { kind: 'failed', reason: REASONS.get(code) ?? `DNS: ${code}` }
  }
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
