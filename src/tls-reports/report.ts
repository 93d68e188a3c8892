/** Composes the aggregate TLS report of one domain and day (RFC 8460 4). Pure. */
export interface ReportedPolicy {
  readonly type: 'tlsa' | 'sts' | 'no-policy-found'
  /** The published policy, line by line. */
  readonly lines: readonly string[]
  /** The `mx` patterns of MTA-STS. */
  readonly mx: readonly string[]
}

/** The number of sessions with the same result. */
export interface TlsResult {
  readonly policy: ReportedPolicy
  /** `success`, or a failure type of RFC 8460 4.3. */
  readonly result: string
  readonly mxHost: string
  /** '' when no connection was made. */
  readonly mxAddress: string
  /** Details of a failure; each '' when unknown. */
  readonly sendingIp: string
  readonly mxHelo: string
  readonly reason: string
  readonly count: number
}

export interface TlsReportHeader {
  readonly domain: string
  /** YYYY-MM-DD, UTC. */
  readonly day: string
  readonly organization: string
  readonly contact: string
}

export function reportId({ domain, day, organization }: TlsReportHeader): string {
  return `${day}.${domain}@${organization}`
}

export function composeTlsReport(about: TlsReportHeader, results: readonly TlsResult[]): object {
  const byPolicy = Map.groupBy(results, ({ policy }) => JSON.stringify(policy))
  return {
    'organization-name': about.organization,
    'date-range': { 'start-datetime': `${about.day}T00:00:00Z`, 'end-datetime': `${about.day}T23:59:59Z` },
    'contact-info': about.contact,
    'report-id': reportId(about),
    policies: [...byPolicy.values()].map((same) => composePolicy(about.domain, same)),
  }
}

function composePolicy(domain: string, results: readonly TlsResult[]): object {
  const [{ policy } = { policy: { type: 'no-policy-found', lines: [], mx: [] } }] = results
  const failures = results.filter(({ result }) => result !== 'success')
  const sum = (of: readonly TlsResult[]): number => of.reduce((total, { count }) => total + count, 0)
  return {
    policy: {
      'policy-type': policy.type,
      'policy-domain': domain,
      ...(policy.lines.length > 0 && { 'policy-string': policy.lines }),
      ...(policy.mx.length > 0 && { 'mx-host': policy.mx }),
    },
    summary: {
      'total-successful-session-count': sum(results) - sum(failures),
      'total-failure-session-count': sum(failures),
    },
    ...(failures.length > 0 && { 'failure-details': failures.map(composeFailure) }),
  }
}

function composeFailure({ result, count, sendingIp, mxHost, mxHelo, mxAddress, reason }: TlsResult): object {
  const known = Object.entries({
    'sending-mta-ip': sendingIp,
    'receiving-mx-hostname': mxHost,
    'receiving-mx-helo': mxHelo,
    'receiving-ip': mxAddress,
    'failure-reason-code': reason,
  }).filter(([, value]) => value !== '')
  return { 'result-type': result, ...Object.fromEntries(known), 'failed-session-count': count }
}
