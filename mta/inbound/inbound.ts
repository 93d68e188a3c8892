/**
 * The inbound role: accepts bounces, complaints, TLS and DMARC reports, unsubscribe mail and mail to inbound routes at
 * the inbound port and applies them. Accepting and applying are separate steps: 250 means that the mail is stored. Any
 * inbound process applies what is stored later, also after a crash. Unsubscribe mail is the exception: it is applied
 * before the 250.
 */
import type { Batcher } from '#src/concurrency/batcher.ts'
import { createDebouncedRunner, type DebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { digestsFor } from '#src/crypto/encryption.ts'
import type { Context } from '#src/context.ts'
import type { Mac } from '#src/mail/verp.ts'
import { isDatabaseAway, isTransactionConflict } from '#src/stores/db.ts'
import { type AttemptLimiter, createAttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { createRegistry, type MetricRegistry } from '#src/metrics/registry.ts'
import { createTrackingTokens, type TrackingTokens } from '#src/tracking/tokens.ts'
import { loadServerCertificate, watchServerCertificate } from '#mta/smtp-server/server-certificate.ts'
import type { OpenPort } from '#mta/smtp-server/listener.ts'
import type { Certificate } from '#mta/smtp-server/self-signed-certificate.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { applyDueReports, type ReportProcessorDeps } from './report-processor.ts'
import { createComplaintMatcher } from './complaint-subject.ts'
import { createPostmasterLimit } from './postmaster-limit.ts'
import { type IncomingMail, openInboundPort, startInboundListener } from './listener.ts'
import { createMailFromNames } from './mail-from-names.ts'
import { createReceivedMailParser, processReceivedMail } from './received-mail-processor.ts'
import { type ArrivedMail, createReceivedMailBatcher } from './received-mail-store.ts'
import { createRouteDirectory, type RoutedRecipient } from './route-directory.ts'
import { createReportParser } from './report-parser.ts'
import { continueReview } from './suppression-review.ts'
import { createRecentReportCache } from './recent-report-cache.ts'
import { type ReceivedReport, createReportBatcher } from './report-store.ts'
import { findQuotedReturnPath } from './inbound-target.ts'
import { acceptDmarcReportMail, createDmarcReportParser, processDmarcReports } from './dmarc-reports.ts'
import { createTlsReportParser, processTlsReports, acceptTlsReportMail } from './tls-reports.ts'
import { acceptUnsubscribe } from './unsubscribe-mail.ts'

export interface Inbound {
  readonly port: number
  /** Whether new connections are closed at once; conversations under way end normally. */
  refuseConnections(isRefused: boolean): void
  stop(): Promise<void>
}

/** Interval of polling for due reports, including those that another process left behind. */
const POLL_MS = 2000
const RETRY_MS = 500

/** What needs the rights of the user who starts the process. */
export interface OpenedInbound {
  readonly certificate: Certificate
  readonly port: OpenPort
}

/** @throws ConfigError when the port is not available, or the certificate cannot be read. */
export async function openInbound(ctx: Pick<Context, 'config' | 'clock' | 'log'>): Promise<OpenedInbound> {
  const certificate = await loadServerCertificate(ctx)
  return { certificate, port: await openInboundPort(ctx) }
}

/** @throws ConfigError when the port is not available, or the certificate cannot be read. */
export async function startInbound(
  ctx: Context,
  registry: MetricRegistry = createRegistry(),
  opened?: OpenedInbound,
): Promise<Inbound> {
  const { certificate, port: open } = opened ?? (await openInbound(ctx))
  const macs = digestsFor(ctx.encryption, 'return-path')
  const tokens = createTrackingTokens(ctx.encryption)
  const parser = createReportParser()
  const recent = createRecentReportCache()
  const count = createReportCounter(registry)
  const reportPolling = startPolling(ctx, () => applyDueReports(ctx, { parser, recent, count }))
  const { parsers, ...receiverReports } = startReceiverReports(ctx, registry)
  const attempts = createAttemptLimiter(ctx.redis, ctx.clock)
  const reportBatcher = createReportBatcher(ctx, recent, () => reportPolling.schedule(0))
  const mailParser = createReceivedMailParser(ctx.config)
  const mailPolling = startPolling(ctx, () => processReceivedMail(ctx, mailParser, registry))
  const mailBatcher = createReceivedMailBatcher(ctx, () => mailPolling.schedule(0))
  const reviewParser = createReportParser()
  const reviewPolling = startPolling(ctx, () => continueReview(ctx, reviewParser))
  const pollings = [reportPolling, mailPolling, reviewPolling, ...Object.values(receiverReports)]
  const stopPolling = (): Promise<unknown> => Promise.all(pollings.map((polling) => polling.stop()))
  const acceptByTarget = createAcceptance(ctx, {
    attempts,
    tokens,
    macs,
    reportBatcher,
    mailBatcher,
    ...receiverReports,
  })
  const accept = async (incoming: IncomingMail): Promise<void> => {
    await acceptByTarget(incoming)
    registry.add('mailstead_inbound_messages_total', [incoming.target.kind])
  }
  const [mailFromNames, routes] = [createMailFromNames(ctx), createRouteDirectory(ctx)]
  const deps = { ctx, macs, tokens, mailFromNames, routes, certificate, open, accept }
  const listener = await startInboundListener(deps).catch(async (error: unknown) => {
    await stopPolling()
    throw error
  })
  const certificates = watchServerCertificate({ ctx, initial: certificate, onChange: listener.updateCertificate })
  return {
    port: listener.port,
    refuseConnections: (isRefused) => listener.refuseConnections(isRefused),
    stop: async () => {
      await certificates.stop()
      await listener.stop()
      await Promise.all([reportBatcher.drain(), mailBatcher.drain()])
      await stopPolling()
      await Promise.all([parser, mailParser, reviewParser, ...parsers].map((one) => one.stop()))
    },
  }
}

interface ReceiverReports {
  readonly tlsReportPolling: DebouncedRunner
  readonly dmarcReportPolling: DebouncedRunner
}

/** What receivers report about us and our domains. */
function startReceiverReports(
  ctx: Context,
  registry: MetricRegistry,
): ReceiverReports & { readonly parsers: readonly { stop(): Promise<void> }[] } {
  const tlsReportParser = createTlsReportParser(ctx.config)
  const dmarcReportParser = createDmarcReportParser(ctx.config)
  return {
    parsers: [tlsReportParser, dmarcReportParser],
    tlsReportPolling: startPolling(ctx, () => processTlsReports(ctx, tlsReportParser, registry)),
    dmarcReportPolling: startPolling(ctx, () => processDmarcReports(ctx, dmarcReportParser, registry)),
  }
}

interface AcceptanceDeps extends ReceiverReports {
  readonly attempts: AttemptLimiter
  readonly tokens: TrackingTokens
  readonly macs: readonly Mac[]
  readonly reportBatcher: Batcher<ReceivedReport, null>
  readonly mailBatcher: Batcher<ArrivedMail, string | null>
}

/** Accepts a mail by the kind of its recipient. It resolves when the mail is committed; it may throw a ReplyError. */
function createAcceptance(ctx: Context, deps: AcceptanceDeps): (incoming: IncomingMail) => Promise<void> {
  const { attempts, tokens, macs, reportBatcher, mailBatcher, tlsReportPolling, dmarcReportPolling } = deps
  const postmasterLimit = createPostmasterLimit(() => ctx.clock.now())
  const findComplaintSubject = createComplaintMatcher(ctx)
  const recipientOf = ({ target, raw }: IncomingMail): ReceivedReport['recipient'] => {
    if (target.kind === 'return-path') return target
    return target.kind === 'complaint' ? findQuotedReturnPath(raw, macs) : null
  }
  const acceptTlsReport = async (incoming: IncomingMail): Promise<void> => {
    await acceptTlsReportMail(ctx, attempts, incoming)
    tlsReportPolling.schedule(0)
  }
  const acceptDmarcReport = async (incoming: IncomingMail): Promise<void> => {
    await acceptDmarcReportMail(ctx, attempts, incoming)
    dmarcReportPolling.schedule(0)
  }
  const acceptReport = async (incoming: IncomingMail): Promise<void> => {
    const quoted = recipientOf(incoming)
    if (quoted === null && !postmasterLimit.mayAccept())
      throw new ReplyError(452, '4.3.1 Too many messages to postmaster, try again later')
    const isUnmatched = quoted === null && incoming.target.kind === 'complaint'
    const recipient = isUnmatched ? await findComplaintSubject(incoming) : quoted
    await reportBatcher.add({ ...incoming, recipient })
  }
  const acceptRouted = async (to: RoutedRecipient, incoming: IncomingMail): Promise<void> => {
    if (to.action === 'drop') return
    const id = await mailBatcher.add({ ...incoming, ...to })
    if (id === null) throw new ReplyError(550, '5.7.1 This server accepts no mail for this address')
  }
  return (incoming) => {
    const { target } = incoming
    if (target.kind === 'unsubscribe') return acceptUnsubscribe(ctx, { attempts, tokens }, target.ref, incoming)
    if (target.kind === 'routed') return acceptRouted(target.to, incoming)
    if (target.kind === 'dmarc-report') return acceptDmarcReport(incoming)
    return target.kind === 'tls-report' ? acceptTlsReport(incoming) : acceptReport(incoming)
  }
}

/** A repeated report is counted as a report only. */
function createReportCounter(registry: MetricRegistry): ReportProcessorDeps['count'] {
  // from the start, so that the first one is an increase
  registry.add('mailstead_complaints_total', [], 0)
  return (kind, result, effect) => {
    registry.add('mailstead_inbound_reports_total', [kind, result])
    if (result === 'complained') registry.add('mailstead_complaints_total', [])
    if (result === 'bounced' && effect.kind === 'bounce')
      registry.add('mailstead_bounces_total', [effect.details.class, effect.details.hard ? 'hard' : 'soft', 'report'])
  }
}

/** Runs one round at a time, immediately after mail is stored for it. Retries a round that fails. */
function startPolling(ctx: Context, round: () => Promise<boolean>): DebouncedRunner {
  const runner = createDebouncedRunner(async () => {
    runner.schedule(await runRound(ctx, round))
  }, 0)
  runner.schedule(0)
  return runner
}

/** Returns the delay until the next round in milliseconds. */
async function runRound(ctx: Context, round: () => Promise<boolean>): Promise<number> {
  try {
    return (await round()) ? 0 : POLL_MS
  } catch (error) {
    const isExpected = isDatabaseAway(error) || isTransactionConflict(error)
    ctx.log[isExpected ? 'debug' : 'error']({ err: error }, 'failed to process inbound work; it is repeated')
    return RETRY_MS
  }
}
