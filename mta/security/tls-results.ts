/**
 * Counts TLS results for domains that ask for reports (RFC 8460): in memory as sessions are opened, and added to
 * PostgreSQL twice a minute. Whether a domain asks for reports is looked up at that time and cached for an hour. A
 * process that dies loses the counts since the last flush. While PostgreSQL is away, counts stay in memory, up to a
 * limit.
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
  /** '' if no connection was made. */
  readonly address: string
  /** `success`, or a failure code of RFC 8460 4.3. */
  readonly result: string
  /** The host's TLSA records, if DANE applied. */
  readonly records?: readonly string[]
  /** Details of a failure. */
  readonly about?: FailureFacts
}

/** RFC 8460 4.3; '' = unknown. */
export interface FailureFacts {
  /** The local address. */
  readonly sendingIp: string
  /** The server's name in its greeting. */
  readonly helo: string
  /** A code of the system or of OpenSSL, else a text. */
  readonly reason: string
}

export interface TlsResults {
  record(note: TlsSessionResult): void
  /** Adds the counts to PostgreSQL; also runs twice a minute. */
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

/** Policy failures bring their own codes; `dane-required` is not used, because DANE is never mandatory here. */
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

export function createTlsResults(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  txt: LookUpTxt,
): TlsResults {
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
    const reporting = new Set(
      await Promise.all(domains.map(async (domain) => ((await isReportingDomain(domain)) ? domain : null))),
    )
    const rows = drained.filter(([, { domain }]) => reporting.has(domain))
    if (rows.length > 0)
      await addCounts(
        db,
        rows.map(([, row]) => row),
      ).catch((error: unknown) => restore(rows, error))
  }

  function restore(rows: readonly (readonly [string, ResultCount])[], error: unknown): void {
    log.debug({ err: error }, 'failed to store TLS results; retrying at the next flush')
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

/** A domain with signed DNS but without TLSA records has no DANE policy. */
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

/** The result code of a session. The mail may have been delivered anyway, if its policy allows that. */
export function resultOfSession({ sts, stsFailure }: TlsPolicy, session: SessionTls, isTlsOffered: boolean): string {
  if (!session.isEncrypted) return isTlsOffered ? 'validation-failure' : 'starttls-not-supported'
  if (stsFailure !== null) return stsFailure.code
  const isMet = sts?.mode !== 'testing' || (session.isAuthorized && isMxOf(sts, session.host))
  return isMet ? 'success' : 'validation-failure'
}

const CODE = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/
const BANNER = /^S: 220[ -](\S{1,255})/
const MAX_REASON = 100

/** From the conversation of an opening, and the reason of the loss. */
export function failureFactsOf(
  lines: readonly string[],
  localAddress: string | undefined,
  detail: string,
): FailureFacts {
  const banner = lines.map((line) => BANNER.exec(line)?.[1]).find((name) => name !== undefined)
  const said = detail === '' ? (lines.findLast((line) => line.includes('TLS failed: ')) ?? '') : detail
  const helo = banner?.replaceAll(/[^\x21-\x7e]/g, '?') ?? ''
  return {
    sendingIp: localAddress ?? '',
    helo,
    reason: CODE.exec(said)?.[0] ?? said.replace(/^.*TLS failed: /, '').slice(0, MAX_REASON),
  }
}

/** The result code of a host that failed because of TLS; `code`: of the certificate check or the system. */
export function resultOfFailure(code: string | null): string {
  return FAILURES.find((known) => known === code) ?? 'validation-failure'
}
