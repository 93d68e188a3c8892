/**
 * Reads the reports on TLS that came, by mail or by post, and keeps what they say of domains of ours. Claimed, read in a thread, and kept
 * or dropped in one transaction: a process that dies over one leaves it to the next, five times; a report that is read twice counts once.
 * Hostile ones are told as unreadable, like hostile bounces (reader.ts).
 */
import type { Context } from '#src/context.ts'
import type { Attempts } from '#src/rate-limits/attempt-limits.ts'
import type { Registry } from '#src/metrics/registry.ts'
import {
  claimArrivals,
  dropArrivals,
  type DueArrival,
  paceTlsReports,
  takeTlsReport,
} from '#src/tls-reports/received-queue.ts'
import { keepTlsReport, ownDomains, sumOf } from '#src/tls-reports/received.ts'
import type { TlsReport } from '#src/tls-reports/schema.ts'
import { Reply } from '#mta/smtp-server/reply.ts'
import type { Incoming } from './listener.ts'
import { createReader, type Reader } from './reader.ts'
import type { TlsReading } from './tls-report-reading.ts'

/** What became of an arrival, for the figures and the log. */
export const TLS_ARRIVAL_RESULTS = {
  kept: 'it is new, and tells of a domain of ours',
  repeated: 'it was known before',
  foreign: 'it tells of no domain of ours',
  unreadable: 'it is no report',
} as const
export type TlsArrivalResult = keyof typeof TLS_ARRIVAL_RESULTS

const THREAD = new URL('./tls-report-thread.ts', import.meta.url)
/** With the time that DNS may take for all signatures. */
const LONGEST_MS = 30_000
const MOST = 10
/** Of an arrival whose keys DNS does not tell, or that ended a process. */
const MOST_TRIES = 5

export function createTlsReportReader({ dnsServers }: Context['config']): Reader<TlsReading> {
  return createReader<TlsReading>({ longestMs: LONGEST_MS, file: THREAD, workerData: { dnsServers } })
}

/** Resolves when it is stored. @throws Reply */
export async function takeByMail(ctx: Context, attempts: Attempts, { peer, raw, size }: Incoming): Promise<void> {
  if (size > raw.length) throw new Reply(552, '5.3.4 A report on TLS is smaller than this')
  if ((await paceTlsReports(ctx, attempts, peer)) !== null)
    throw new Reply(452, '4.7.0 Too many reports on TLS, come again later')
  if (!(await takeTlsReport(ctx, { via: 'mail', peer, raw })))
    throw new Reply(452, '4.3.1 Too many reports on TLS, come again later')
}

/** One round; true when there may be more. */
export async function readTlsReports(ctx: Context, reader: Reader<TlsReading>, registry: Registry): Promise<boolean> {
  const due = await claimArrivals(ctx.db, new Date(ctx.clock.now()), MOST)
  if (due.length === 0) return false
  const readings = await reader.read(due.map(({ raw, tries }) => (tries > MOST_TRIES ? Buffer.alloc(0) : raw)))
  for (const [i, one] of due.entries()) {
    const settled = settle(readings[i] ?? null, one)
    if (settled === null) continue // its claim runs out, and it comes again
    const { result, report } = await keep(ctx, one, settled)
    registry.add('mailstead_tls_reports_total', [one.via, result])
    if (result === 'kept' && report !== null) countSessions(registry, report)
    ctx.log.info({ report: one.id, via: one.via, peer: one.peer, result, ...tell(settled) }, 'a report on TLS was read')
  }
  return due.length === MOST
}

type Settled = Exclude<TlsReading, { kind: 'later' }>

/** Null: it is read again. */
function settle(reading: TlsReading | null, { tries }: DueArrival): Settled | null {
  if (reading === null) return { kind: 'none', why: 'it cannot be read' }
  if (reading.kind !== 'later') return reading
  return tries < MOST_TRIES ? null : reading.fallback
}

function tell(settled: Settled): object {
  return settled.kind === 'none'
    ? { why: settled.why }
    : { organization: settled.report.organization, signer: settled.signer }
}

interface Result {
  readonly result: TlsArrivalResult
  readonly report: Proven | null
}

interface Proven extends TlsReport {
  readonly isProven: boolean
}

function keep(ctx: Context, { id, via, peer }: DueArrival, settled: Settled): Promise<Result> {
  return ctx.db.transaction(async (tx): Promise<Result> => {
    await dropArrivals(tx, [id])
    if (settled.kind === 'none') return { result: 'unreadable', report: null }
    const { report, signer } = settled
    const { bounceDomain, serverName } = ctx.config
    const ours = await ownDomains(
      tx,
      report.policies.map(({ domain }) => domain),
      [bounceDomain, serverName],
    )
    const policies = report.policies.filter(({ domain }) => ours.has(domain))
    if (policies.length === 0) return { result: 'foreign', report: null }
    const isNew = await keepTlsReport(tx, { ...report, policies, id, via, peer, signer })
    return { result: isNew ? 'kept' : 'repeated', report: { ...report, policies, isProven: signer !== '' } }
  })
}

function countSessions(registry: Registry, { policies, isProven }: Proven): void {
  const proof = isProven ? 'signed' : 'unsigned'
  for (const [result, what] of [
    ['success', 'successes'],
    ['failure', 'failures'],
  ] as const) {
    registry.add('mailstead_tls_reported_sessions_total', [result, proof], sumOf(policies, what))
  }
}
