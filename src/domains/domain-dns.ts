/**
 * DNS queries about the names of a domain: to DNS_SERVERS (in sandbox mode the sandbox's DNS server), else to the
 * system's resolvers. "No such record" and "no answer" are different results: only the first is evidence. Never throws
 * for a DNS failure.
 */
import type { Resolver } from 'node:dns/promises'
import type { Config } from '#config/load.ts'
import { openResolver } from '#src/net/dns-resolver.ts'
import type { CodedText } from '#src/platform/coded-text.ts'
import { recordText } from './record-texts.ts'

export type DnsQueryResult<T> =
  /** No records: the name has none, does not exist, or is not valid. */
  | { readonly kind: 'answered'; readonly records: readonly T[] }
  | {
      readonly kind: 'failed'
      /** In English. */
      readonly reason: string
      readonly text: CodedText
    }

export interface MxRecord {
  readonly exchange: string
  readonly priority: number
}

/** Names in answers are lower case, without a final dot. */
export interface DomainDns {
  /** One text per record, its strings joined (RFC 6376 3.6.2.2). */
  txt(name: string): Promise<DnsQueryResult<string>>
  mx(name: string): Promise<DnsQueryResult<MxRecord>>
  cname(name: string): Promise<DnsQueryResult<string>>
  ns(name: string): Promise<DnsQueryResult<string>>
  /** IPv4 addresses, or IPv6 if there are none. */
  addresses(name: string): Promise<DnsQueryResult<string>>
  /** Addresses of one family. */
  ofFamily(name: string, family: 4 | 6): Promise<DnsQueryResult<string>>
  ptr(name: string): Promise<DnsQueryResult<string>>
}

const TIMEOUT_MS = 3000
const ATTEMPTS = 2
const NO_RECORDS = new Set(['ENODATA', 'ENOTFOUND', 'EBADNAME'])
const FAILURES: ReadonlyMap<string, CodedText> = new Map([
  ['ETIMEOUT', recordText('dns_timeout')],
  ['ECONNREFUSED', recordText('dns_unreachable')],
  ['ESERVFAIL', recordText('dns_servfail')],
  ['EREFUSED', recordText('dns_refused')],
])

export function createDomainDns(config: Pick<Config, 'dnsServers'>): DomainDns {
  const open = (): Resolver => openResolver({ servers: config.dnsServers, timeout: TIMEOUT_MS, tries: ATTEMPTS })
  return {
    txt: (name) => queryDns(async () => (await open().resolveTxt(name)).map((strings) => strings.join(''))),
    mx: (name) =>
      queryDns(async () => {
        const records = await open().resolveMx(name)
        return records.map(({ exchange, priority }) => ({ exchange: normalizeName(exchange), priority }))
      }),
    cname: (name) => queryDns(async () => (await open().resolveCname(name)).map(normalizeName)),
    ns: (name) => queryDns(async () => (await open().resolveNs(name)).map(normalizeName)),
    ofFamily: (name, family) => queryDns(() => (family === 4 ? open().resolve4(name) : open().resolve6(name))),
    ptr: (name) => queryDns(async () => (await open().resolvePtr(name)).map(normalizeName)),
    addresses: async (name) => {
      const four = await queryDns(() => open().resolve4(name))
      return four.kind === 'answered' && four.records.length === 0 ? queryDns(() => open().resolve6(name)) : four
    },
  }
}

/** Runs one query of a resolver. Never rejects. */
export async function queryDns<T>(resolve: () => Promise<T[]>): Promise<DnsQueryResult<T>> {
  try {
    return { kind: 'answered', records: await resolve() }
  } catch (error) {
    const code =
      error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error)
    if (NO_RECORDS.has(code)) return { kind: 'answered', records: [] }
    const text = FAILURES.get(code) ?? recordText('dns_failed', { code })
    return { kind: 'failed', reason: text.text, text }
  }
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
