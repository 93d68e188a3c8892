/**
 * Processes TLS reports received by mail or HTTP and stores what they say about our domains. Each report is claimed,
 * parsed in a thread, and stored or dropped in one transaction. If a process dies, another one claims the report, up to
 * five times. A report that is processed twice counts once. A hostile report counts as unreadable (report-parser.ts).
 */
import type { Context } from '#src/context.ts'
import type { AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import type { ClaimedArrival } from '#src/report-arrivals/arrival-queue.ts'
import { TLS_REPORT_ARRIVALS, type TlsReportArrival } from '#src/tls-reports/received-queue.ts'
import { storeTlsReport, findOwnDomains, sumOf } from '#src/tls-reports/received.ts'
import type { TlsReport } from '#src/tls-reports/schema.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { createParserThread, type ParserThread } from '#src/platform/parser-thread.ts'
import type { IncomingMail } from './listener.ts'
import type { TlsReportParse } from './tls-report-parser.ts'

/** The results of processing an arrival, for metrics and the log. */
export const TLS_ARRIVAL_RESULTS = {
  kept: 'new, about a domain of this server',
  repeated: 'received before',
  foreign: 'about no domain of this server',
  unreadable: 'not a TLS report',
} as const
export type TlsArrivalResult = keyof typeof TLS_ARRIVAL_RESULTS

const THREAD = new URL('./tls-report-parser-thread.ts', import.meta.url)
/** Includes the time for the DNS queries of all signatures. */
const PARSE_TIMEOUT_MS = 30_000
const BATCH_SIZE = 10
/** Limit for an arrival whose DKIM keys DNS does not return, or that crashes a process. */
const MAX_TRIES = 5

export function createTlsReportParser({ dnsServers }: Context['config']): ParserThread<TlsReportParse> {
  return createParserThread<TlsReportParse>({ timeoutMs: PARSE_TIMEOUT_MS, file: THREAD, workerData: { dnsServers } })
}

/** Resolves when the report is stored. @throws ReplyError */
export async function acceptTlsReportMail(
  ctx: Context,
  attempts: AttemptLimiter,
  { peer, raw, size }: IncomingMail,
): Promise<void> {
  if (size > raw.length) throw new ReplyError(552, '5.3.4 Message too big for a TLS report')
  if ((await TLS_REPORT_ARRIVALS.limit(ctx, attempts, peer)) !== null)
    throw new ReplyError(452, '4.7.0 Too many TLS reports from this address, try again later')
  if (!(await TLS_REPORT_ARRIVALS.enqueue(ctx, { via: 'mail', peer, raw })))
    throw new ReplyError(452, '4.3.1 Too many TLS reports are waiting, try again later')
}

/** Processes one batch. Returns true if more may be due. */
export async function processTlsReports(
  ctx: Context,
  parser: ParserThread<TlsReportParse>,
  registry: MetricRegistry,
): Promise<boolean> {
  const due = await TLS_REPORT_ARRIVALS.claim(ctx.db, new Date(ctx.clock.now()), BATCH_SIZE)
  if (due.length === 0) return false
  const parses = await parser.parse(due.map(({ raw, tries }) => (tries > MAX_TRIES ? Buffer.alloc(0) : raw)))
  for (const [i, arrival] of due.entries()) {
    const final = finalParse(parses[i] ?? null, arrival)
    if (final === null) continue // its claim expires, and it is claimed again
    const { result, report } = await storeParse(ctx, arrival, final)
    registry.add('mailstead_tls_reports_total', [arrival.via, result])
    if (result === 'kept' && report !== null) countSessions(registry, report)
    const { id, via, peer } = arrival
    ctx.log.info({ report: id, via, peer, result, ...logFieldsOf(final) }, 'TLS report processed')
  }
  return due.length === BATCH_SIZE
}

type FinalParse = Exclude<TlsReportParse, { kind: 'later' }>

/** Returns null if the report is parsed again later. */
function finalParse(parse: TlsReportParse | null, { tries }: ClaimedArrival<TlsReportArrival>): FinalParse | null {
  if (parse === null) return { kind: 'none', why: 'the report could not be parsed' }
  if (parse.kind !== 'later') return parse
  return tries < MAX_TRIES ? null : parse.fallback
}

function logFieldsOf(parse: FinalParse): object {
  return parse.kind === 'none' ? { why: parse.why } : { organization: parse.report.organization, signer: parse.signer }
}

interface StoredTlsReport {
  readonly result: TlsArrivalResult
  readonly report: VerifiedTlsReport | null
}

interface VerifiedTlsReport extends TlsReport {
  readonly isVerified: boolean
}

function storeParse(
  ctx: Context,
  { id, via, peer }: ClaimedArrival<TlsReportArrival>,
  parse: FinalParse,
): Promise<StoredTlsReport> {
  return ctx.db.transaction(async (tx): Promise<StoredTlsReport> => {
    await TLS_REPORT_ARRIVALS.delete(tx, [id])
    if (parse.kind === 'none') return { result: 'unreadable', report: null }
    const { report, signer } = parse
    const { bounceDomain, serverName } = ctx.config
    const ours = await findOwnDomains(
      tx,
      report.policies.map(({ domain }) => domain),
      [bounceDomain, serverName],
    )
    const policies = report.policies.filter(({ domain }) => ours.has(domain))
    if (policies.length === 0) return { result: 'foreign', report: null }
    const isNew = await storeTlsReport(tx, { ...report, policies, id, via, peer, signer })
    return { result: isNew ? 'kept' : 'repeated', report: { ...report, policies, isVerified: signer !== '' } }
  })
}

function countSessions(registry: MetricRegistry, { policies, isVerified }: VerifiedTlsReport): void {
  const proof = isVerified ? 'signed' : 'unsigned'
  for (const [result, what] of [
    ['success', 'successes'],
    ['failure', 'failures'],
  ] as const) {
    registry.add('mailstead_tls_reported_sessions_total', [result, proof], sumOf(policies, what))
  }
}
