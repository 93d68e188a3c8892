/**
 * Does a domain take mail? Asked of DNS once for many contacts: answers are kept for an hour, a missing answer for a minute; at most 20
 * questions are under way. No answer is no evidence: the verdict is `unknown`, and whoever asked comes again. When nobody answers any more,
 * the rest is not asked.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { DomainDns } from '#src/domains/dns.ts'
import type { MailDomain } from './score-factors.ts'

const PARALLEL = 20
const KEEP_MS = 3600 * 1000
const KEEP_UNKNOWN_MS = 60 * 1000
const MAX_KEPT = 50_000
/** So many domains without an answer, one after the other: it is DNS that is away. */
const GIVE_UP_AFTER = 40

interface Kept {
  readonly verdict: MailDomain
  readonly untilMs: number
}

/** Verdicts on all of them. */
export type MailDomains = (domains: ReadonlySet<string>) => Promise<ReadonlyMap<string, MailDomain>>

export function createMailDomains(dns: Pick<DomainDns, 'mx' | 'addresses'>, clock: Clock): MailDomains {
  const kept = new Map<string, Kept>()

  function remember(domain: string, verdict: MailDomain): void {
    kept.delete(domain)
    kept.set(domain, { verdict, untilMs: clock.now() + (verdict === 'unknown' ? KEEP_UNKNOWN_MS : KEEP_MS) })
    // the oldest stands first
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break
      kept.delete(oldest)
    }
  }

  async function verdictOn(domain: string): Promise<MailDomain> {
    const known = kept.get(domain)
    if (known !== undefined && known.untilMs > clock.now()) return known.verdict
    const verdict = await ask(dns, domain)
    remember(domain, verdict)
    return verdict
  }

  return async (domains) => {
    const verdicts = new Map<string, MailDomain>()
    const waiting = domains.values()
    let misses = 0
    const work = async (): Promise<void> => {
      for (const domain of waiting) {
        const verdict = misses < GIVE_UP_AFTER ? await verdictOn(domain) : 'unknown'
        misses = verdict === 'unknown' ? misses + 1 : 0
        verdicts.set(domain, verdict)
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
    return verdicts
  }
}

/** RFC 5321 section 5.1; a single MX of "." is a null MX (RFC 7505). */
async function ask(dns: Pick<DomainDns, 'mx' | 'addresses'>, domain: string): Promise<MailDomain> {
  const mx = await dns.mx(domain)
  if (mx.kind === 'failed') return 'unknown'
  if (mx.records.length > 0)
    return mx.records.some(({ exchange }) => exchange !== '' && exchange !== '.') ? 'mx' : 'none'
  const addresses = await dns.addresses(domain)
  if (addresses.kind === 'failed') return 'unknown'
  return addresses.records.length > 0 ? 'address' : 'none'
}
