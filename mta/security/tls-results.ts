/**
 * What became of TLS with the domains that ask for reports (RFC 8460): counted in memory as sessions are opened, and added to PostgreSQL
 * twice a minute. Whether a domain asks is looked up then, once an hour for each. A process that dies loses what it counted since; while
 * PostgreSQL is away counts are kept, up to a bound.
 */
import { createHash } from 'node:crypto'
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { DnsAnswer } from '#src/net/dns-answer.ts'
import { createTtlCache } from '#src/concurrency/ttl-cache.ts'
import { sql } from '#src/stores/sql.ts'
import { hasReportRecord } from '#src/tls-reports/destinations.ts'
import type { ReportedPolicy } from '#src/tls-reports/report.ts'
import type { SessionProtection, TlsPolicy } from './policy.ts'
import { isMxOf } from './sts-policy.ts'

export interface TlsSessionResult {
  readonly policy: TlsPolicy
  readonly host: string
  /** '' where nothing was connected to. */
  readonly address: string
  /** success, or a failure as RFC 8460 4.3 names it. */
  readonly result: string
  /** What the host was asked for by DANE, where it was: its TLSA records. */
  readonly records?: readonly string[]
  /** Of a failure. */
  readonly about?: FailureFacts
}

/** RFC 8460 4.3; '' = not known. */
export interface FailureFacts {
  /** Ours. */
  readonly sendingIp: string
  /** How the server calls itself. */
  readonly helo: string
  /** A code of the network or of OpenSSL, else words. */
  readonly reason: string
}

export interface TlsResults {
  record(note: TlsSessionResult): void
  /** Adds what is counted; called by itself twice a minute. */
  flush(): Promise<void>
  stop(): Promise<void>
}

interface ResultCount {
  readonly domain: string
  readonly policy: string
  readonly result: string
  readonly host: string
  readonly address: string
  readonly day: string
  readonly about: FailureFacts
  count: number
}

/** Those of policies that cannot be had come with them; dane-required is for those who will have DANE everywhere. */
const FAILURES = [
  'starttls-not-supported',
  'certificate-host-mismatch',
  'certificate-expired',
  'certificate-not-trusted',
  'tlsa-invalid',
  'dnssec-invalid',
]
const NO_FACTS: FailureFacts = { sendingIp: '', helo: '', reason: '' }
const FLUSH_MS = 30_000
const MAX_COUNTS = 20_000
const REPORTING_CACHE = { max: 20_000, ttlMs: 3_600_000 }

const ADD = sql`
  INSERT INTO tls_results AS r (
    day, domain, policy_hash, policy, result, mx_host, mx_address, sending_ip, mx_helo, reason, count
  )
  SELECT *
  FROM unnest(
    $1::date[], $2::text[], $3::bytea[], $4::jsonb[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::bigint[]
  )
  ON CONFLICT ON CONSTRAINT tls_results_pkey
  DO UPDATE SET count = r.count + excluded.count
`

type LookUpTxt = (name: string) => Promise<DnsAnswer<string>>

export function createTlsResults({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>, txt: LookUpTxt): TlsResults {
  const counts = new Map<string, ResultCount>()
  const reportingDomains = createTtlCache<boolean>(clock, REPORTING_CACHE)

  function record({ policy, host, address, result, records, about = NO_FACTS }: TlsSessionResult): void {
    if (policy.domain === '' || reportingDomains.get(policy.domain) === false) return
    const day = new Date(clock.now()).toISOString().slice(0, 10)
    const row = {
      domain: policy.domain,
      policy: JSON.stringify(reportedOf(policy, records)),
      result,
      host,
      address,
      day,
      about,
    }
    const key = JSON.stringify(row)
    const known = counts.get(key)
    if (known !== undefined) known.count++
    else if (counts.size < MAX_COUNTS) counts.set(key, { ...row, count: 1 })
  }

  async function isReportingDomain(domain: string): Promise<boolean> {
    const known = reportingDomains.get(domain)
    if (known !== undefined) return known
    const txtRecord = await txt(`_smtp._tls.${domain}`)
    const isReporting = txtRecord.kind === 'found' && hasReportRecord(txtRecord.records)
    reportingDomains.set(domain, isReporting)
    return isReporting
  }

  async function flush(): Promise<void> {
    const drained = [...counts]
    counts.clear()
    const domains = [...new Set(drained.map(([, { domain }]) => domain))]
    const reporting = new Set(await Promise.all(domains.map(async (domain) => ((await isReportingDomain(domain)) ? domain : null))))
    const rows = drained.filter(([, { domain }]) => reporting.has(domain))
    if (rows.length > 0)
      await addCounts(
        db,
        rows.map(([, row]) => row),
      ).catch((error: unknown) => restore(rows, error))
  }

  function restore(rows: readonly (readonly [string, ResultCount])[], error: unknown): void {
    log.debug({ err: error }, 'TLS results could not be added; they are kept')
    for (const [key, row] of rows) counts.set(key, { ...row, count: row.count + (counts.get(key)?.count ?? 0) })
  }

  const timer = setInterval(() => void flush(), FLUSH_MS)
  return {
    record,
    flush,
    stop: () => {
      clearInterval(timer)
      return flush()
    },
  }
}

async function addCounts(db: Context['db'], rows: readonly ResultCount[]): Promise<void> {
  await db.query(
    ADD,
    columnsOf(rows, [
      (r) => r.day,
      (r) => r.domain,
      (r) => createHash('sha256').update(r.policy).digest(),
      (r) => r.policy,
      (r) => r.result,
      (r) => r.host,
      (r) => r.address,
      (r) => r.about.sendingIp,
      (r) => r.about.helo,
      (r) => r.about.reason,
      (r) => r.count,
    ]),
  )
}

/** A domain whose DNS is signed and whose hosts have no TLSA records has no policy by that. */
function reportedOf({ dane, sts, stsFailure }: TlsPolicy, records: readonly string[] | undefined): ReportedPolicy {
  if (records !== undefined || dane === 'unknown') return { type: 'tlsa', lines: records ?? [], mx: [] }
  if (sts === null) return { type: stsFailure === null ? 'no-policy-found' : 'sts', lines: [], mx: [] }
  const lines = [
    'version: STSv1',
    `mode: ${sts.mode}`,
    ...sts.mx.map((pattern) => `mx: ${pattern}`),
    `max_age: ${sts.maxAgeSeconds}`,
  ]
  return { type: 'sts', lines, mx: sts.mx }
}

type SessionTls = Pick<SessionProtection, 'host' | 'isEncrypted' | 'isAuthorized'>

/** What a session is counted as. Mail went all the same, where the domain asks for no more than it got. */
export function resultOfSession({ sts, stsFailure }: TlsPolicy, session: SessionTls, isTlsOffered: boolean): string {
  if (!session.isEncrypted) return isTlsOffered ? 'validation-failure' : 'starttls-not-supported'
  if (stsFailure !== null) return stsFailure.code
  const isMet = sts?.mode !== 'testing' || (session.isAuthorized && isMxOf(sts, session.host))
  return isMet ? 'success' : 'validation-failure'
}

const CODE = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/
const BANNER = /^S: 220[ -](\S{1,255})/
const MAX_REASON = 100

/** From the lines of an opening, and what the connection was lost by. */
export function failureFactsOf(lines: readonly string[], localAddress: string | undefined, detail: string): FailureFacts {
  const banner = lines.map((line) => BANNER.exec(line)?.[1]).find((name) => name !== undefined)
  const said = detail === '' ? (lines.findLast((line) => line.includes('TLS failed: ')) ?? '') : detail
  const helo = banner?.replaceAll(/[^\x21-\x7e]/g, '?') ?? ''
  return {
    sendingIp: localAddress ?? '',
    helo,
    reason: CODE.exec(said)?.[0] ?? said.replace(/^.*TLS failed: /, '').slice(0, MAX_REASON),
  }
}

/** What a host is counted as that could not be used because of its TLS; `code` as it was found, or of the network. */
export function resultOfFailure(code: string | null): string {
  return FAILURES.find((known) => known === code) ?? 'validation-failure'
}
