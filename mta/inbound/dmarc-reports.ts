/**
 * Processes received DMARC aggregate reports and stores what they say about verified domains. Each report is claimed,
 * parsed in a thread, and stored or dropped in one transaction. If a process dies, another one claims the report, up to
 * five times. A report that is processed twice counts once. A hostile report counts as unreadable (report-parser.ts).
 */
import type { Context } from '#src/context.ts'
import { findAlerts } from '#src/dmarc/alerts.ts'
import type { AggregateReport } from '#src/dmarc/aggregate-report.ts'
import { DMARC_REPORT_ARRIVALS, type DmarcReportArrival } from '#src/dmarc/received-queue.ts'
import { messagesOf, passes, storeDmarcReport } from '#src/dmarc/received.ts'
import { recordsByDomain } from '#src/dmarc/reported-domains.ts'
import { raiseEvents, type WorkspaceEvent } from '#src/events/raise.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import { NO_NOTIFICATIONS, publishNotifications, type CommitNotifications } from '#src/queue/notifications.ts'
import type { AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import type { ClaimedArrival } from '#src/report-arrivals/arrival-queue.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { createParserThread, type ParserThread } from '#src/platform/parser-thread.ts'
import type { DmarcReportParse } from './dmarc-report-parser.ts'
import type { DmarcMailToParse } from './dmarc-report-parser-thread.ts'
import type { IncomingMail } from './listener.ts'

/** The results of processing a report, for metrics and the log. */
const DMARC_ARRIVAL_RESULTS = {
  counted: 'new, verified, about a domain of a workspace',
  unverified: 'neither DKIM nor SPF proves its author; listed, not counted',
  repeated: 'received before',
  foreign: 'about no verified domain of a workspace',
  unreadable: 'not a DMARC report',
} as const
type DmarcArrivalResult = keyof typeof DMARC_ARRIVAL_RESULTS

export type DmarcReportParser = ParserThread<DmarcReportParse, DmarcMailToParse>

const THREAD = new URL('./dmarc-report-parser-thread.ts', import.meta.url)
/** Includes the time for the DNS queries of all signatures. */
const PARSE_TIMEOUT_MS = 30_000
/** 20 MB of XML as a string, and 10,000 rows. */
const MEMORY_MB = 256
const BATCH_SIZE = 10
/** Limit for an arrival whose DKIM keys DNS does not return, or that crashes a process. */
const MAX_TRIES = 5
const DAY_MS = 24 * 3600 * 1000
/** Sources are deleted after 90 days (worker/housekeeping.ts). */
const MAX_AGE_MS = 90 * DAY_MS

export function createDmarcReportParser({ dnsServers, serverName }: Context['config']): DmarcReportParser {
  const workerData = { dnsServers, serverName }
  return createParserThread({ timeoutMs: PARSE_TIMEOUT_MS, file: THREAD, workerData, memoryMb: MEMORY_MB })
}

/** Resolves when the report is stored. @throws ReplyError */
export async function acceptDmarcReportMail(
  ctx: Context,
  attempts: AttemptLimiter,
  { peer, raw, size, mailFrom, helo }: IncomingMail,
): Promise<void> {
  if (size > raw.length) throw new ReplyError(552, '5.3.4 Message too big for a DMARC report')
  if ((await DMARC_REPORT_ARRIVALS.limit(ctx, attempts, peer)) !== null)
    throw new ReplyError(452, '4.7.0 Too many DMARC reports from this address, try again later')
  if (!(await DMARC_REPORT_ARRIVALS.enqueue(ctx, { peer, raw, mailFrom, helo })))
    throw new ReplyError(452, '4.3.1 Too many DMARC reports are waiting, try again later')
}

/** Processes one batch. Returns true if more may be due. */
export async function processDmarcReports(
  ctx: Context,
  parser: DmarcReportParser,
  registry: MetricRegistry,
): Promise<boolean> {
  const due = await DMARC_REPORT_ARRIVALS.claim(ctx.db, new Date(ctx.clock.now()), BATCH_SIZE)
  if (due.length === 0) return false
  const parses = await parser.parse(
    due.map(({ raw, tries, mailFrom, peer, helo }) => ({
      raw: tries > MAX_TRIES ? Buffer.alloc(0) : raw,
      mailFrom,
      peer,
      helo,
    })),
  )
  for (const [i, arrival] of due.entries()) {
    const final = finalParse(parses[i] ?? null, arrival)
    if (final === null) continue // its claim expires, and it is claimed again
    const { result, news, counted } = await storeParse(ctx, arrival.id, final)
    publishNotifications(ctx, news)
    registry.add('mailstead_dmarc_reports_total', [result])
    registry.add('mailstead_dmarc_reported_messages_total', ['pass'], counted.passed)
    registry.add('mailstead_dmarc_reported_messages_total', ['fail'], counted.failed)
    ctx.log.info({ report: arrival.id, peer: arrival.peer, result, ...logFieldsOf(final) }, 'DMARC report processed')
  }
  return due.length === BATCH_SIZE
}

type FinalParse = Exclude<DmarcReportParse, { kind: 'later' }>

/** Returns null if the report is parsed again later. */
function finalParse(parse: DmarcReportParse | null, { tries }: ClaimedArrival<DmarcReportArrival>): FinalParse | null {
  if (parse === null) return { kind: 'none', why: 'the report could not be parsed' }
  if (parse.kind !== 'later') return parse
  return tries < MAX_TRIES ? null : parse.fallback
}

function logFieldsOf(parse: FinalParse): object {
  if (parse.kind === 'none') return { why: parse.why }
  const { organization, policy, skipped } = parse.report
  return { organization, domain: policy.domain, signer: parse.signer, skipped }
}

interface StoredParse {
  readonly result: DmarcArrivalResult
  readonly news: CommitNotifications
  readonly counted: { readonly passed: number; readonly failed: number }
}

const NOTHING = { passed: 0, failed: 0 }

function storeParse(ctx: Context, arrivalId: string, parse: FinalParse): Promise<StoredParse> {
  const now = new Date(ctx.clock.now())
  return ctx.db.transaction(async (tx): Promise<StoredParse> => {
    await DMARC_REPORT_ARRIVALS.delete(tx, [arrivalId])
    const dropped = (result: DmarcArrivalResult): StoredParse => ({
      result,
      news: NO_NOTIFICATIONS,
      counted: NOTHING,
    })
    if (parse.kind === 'none' || !isRecent(parse.report, now)) return dropped('unreadable')
    const { report, signer } = parse
    const domains = await recordsByDomain(tx, report)
    if (domains.length === 0) return dropped('foreign')
    const events: WorkspaceEvent[] = []
    const counted = { ...NOTHING }
    let isNew = false
    for (const { owner, records } of domains) {
      if (!(await storeDmarcReport(tx, { owner, records, report, signer, nowMs: now.getTime() }))) continue
      isNew = true
      if (signer === '') continue
      const passed = messagesOf(records.filter(passes))
      counted.passed += passed
      counted.failed += messagesOf(records) - passed
      const rules = { now, minMessages: ctx.config.dmarcAlertMessages }
      events.push(...(await findAlerts(tx, owner, records, rules)))
    }
    const result = !isNew ? 'repeated' : signer === '' ? 'unverified' : 'counted'
    return { result, counted, news: await raiseEvents(tx, events, now) }
  })
}

/** A period in the future, or before what is stored, is not plausible. */
function isRecent({ beginsAt, endsAt }: AggregateReport, now: Date): boolean {
  return beginsAt.getTime() <= now.getTime() + DAY_MS && endsAt.getTime() >= now.getTime() - MAX_AGE_MS
}
