/**
 * Checks whether domains accept mail. One DNS query serves many contacts: results are cached for an hour, a failure for
 * a minute, and at most 20 queries run at once. No answer is no evidence: the result is `unknown`, and the caller tries
 * again later. After too many failures in a row, the remaining domains are not queried.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { DomainDns } from '#src/domains/domain-dns.ts'
import type { MailDomainStatus } from './score-factors.ts'

const CONCURRENCY = 20
const TTL_MS = 3600 * 1000
const UNKNOWN_TTL_MS = 60 * 1000
const MAX_CACHED = 50_000
/** After this many failures in a row, DNS itself counts as unavailable. */
const MAX_CONSECUTIVE_FAILURES = 40

interface CachedResult {
  readonly result: MailDomainStatus
  readonly expiresAtMs: number
}

/** Returns the result for every domain. */
export type MailDomainChecker = (domains: ReadonlySet<string>) => Promise<ReadonlyMap<string, MailDomainStatus>>

export function createMailDomainChecker(dns: Pick<DomainDns, 'mx' | 'addresses'>, clock: Clock): MailDomainChecker {
  const cache = new Map<string, CachedResult>()

  function store(domain: string, result: MailDomainStatus): void {
    cache.delete(domain)
    cache.set(domain, { result, expiresAtMs: clock.now() + (result === 'unknown' ? UNKNOWN_TTL_MS : TTL_MS) })
    // the oldest entry is first
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED) break
      cache.delete(oldest)
    }
  }

  async function check(domain: string): Promise<MailDomainStatus> {
    const known = cache.get(domain)
    if (known !== undefined && known.expiresAtMs > clock.now()) return known.result
    const result = await queryDns(dns, domain)
    store(domain, result)
    return result
  }

  return async (domains) => {
    const results = new Map<string, MailDomainStatus>()
    const remaining = domains.values()
    let failures = 0
    const work = async (): Promise<void> => {
      for (const domain of remaining) {
        const result = failures < MAX_CONSECUTIVE_FAILURES ? await check(domain) : 'unknown'
        failures = result === 'unknown' ? failures + 1 : 0
        results.set(domain, result)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
    return results
  }
}

/** RFC 5321 section 5.1; a single MX of "." is a null MX (RFC 7505). */
async function queryDns(dns: Pick<DomainDns, 'mx' | 'addresses'>, domain: string): Promise<MailDomainStatus> {
  const mx = await dns.mx(domain)
  if (mx.kind === 'failed') return 'unknown'
  if (mx.records.length > 0)
    return mx.records.some(({ exchange }) => exchange !== '' && exchange !== '.') ? 'mx' : 'none'
  const addresses = await dns.addresses(domain)
  if (addresses.kind === 'failed') return 'unknown'
  return addresses.records.length > 0 ? 'address' : 'none'
}
