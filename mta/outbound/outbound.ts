/**
 * The outbound role: constructs the scheduler, the delivery pipeline and the result writer of one process under one
 * lease, and wakes them on messages that other processes publish. It records the results that a dead process of this
 * node left in its journal. It stops in order: it claims nothing more, lets conversations end for a while and aborts
 * the rest, writes the results, releases recipients without a result, and ends its lease. Nothing that waits for a
 * store delays the end of the conversations, and a store that hangs does not delay the stop beyond its time.
 */
import { randomUUID } from 'node:crypto'
import { loadPlans, type Plans } from '#config/plans.ts'
import { deliver } from '#mta/delivery/deliver.ts'
import { openPipeline, type OpenPipeline } from '#mta/delivery/delivery-pipeline.ts'
import { claimWithSpans, deliverWithSpan } from '#mta/delivery/delivery-span.ts'
import { createResultHandler, resultOf, type ResultHandler } from '#mta/delivery/result-handler.ts'
import { journalFolder, openResultJournal, type ResultJournal } from '#mta/delivery/result-journal.ts'
import { createResultWriter, type ResultWriter } from '#mta/delivery/result-writer.ts'
import { startDryRunWorker, type DryRunWorker } from '#mta/dry-run/dry-run-worker.ts'
import type { IsOnHost } from '#mta/egress/address-check.ts'
import { startEgress } from '#mta/egress/source-choice.ts'
import type { Postponement } from '#mta/scheduling/claimer.ts'
import { Dispatcher, findSite } from '#mta/scheduling/dispatcher.ts'
import type { LeasedRecipient } from '#mta/scheduling/leased-recipients.ts'
import { createGroupFinder } from '#mta/scheduling/group-finder.ts'
import { createReadyQueue, type ReadyQueue } from '#mta/scheduling/ready-queue.ts'
import { SiteQueues } from '#mta/scheduling/site-queues.ts'
import { createSourceSelection } from '#mta/scheduling/source-selection.ts'
import { startThrottles, type Throttles } from '#mta/shaping/throttles.ts'
import { beginShutdown } from '#src/concurrency/shutdown.ts'
import type { Context } from '#src/context.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { releaseTransition } from '#src/messages/transition-for-outcome.ts'
import { createRegistry, type MetricRegistry } from '#src/metrics/registry.ts'
import { createDueSchedule } from '#src/queue/due-schedule.ts'
import { createDomainSites, type DomainSites } from '#src/queue/domain-sites.ts'
import { acquireLease, type Lease } from '#src/queue/lease.ts'
import { watchSuspensions, type SuspensionWatch } from '#src/queue/suspensions.ts'
import type { Redis } from '#src/stores/redis.ts'
import { clockProblem } from '#src/stores/server-clock.ts'
import { startJournalRecovery, type JournalRecovery } from './journal-recovery.ts'
import { createOutboundMetrics, type OutboundMetrics } from './outbound-metrics.ts'
import { createSiteStatusPublisher, type SiteStatusPublisher } from './site-status-publisher.ts'
import { subscribeToWakeUps } from './wake-ups.ts'

const GRACE_MS = 20_000
/** For aborted conversations to record how far they were. */
const ABORT_MS = 2000
/** For PostgreSQL to store the results. */
const RESULTS_MS = 3000
/** For each of the last steps, and for all of them. */
const LAST_STEP_MS = 1000
const LAST_STEPS_MS = 1500
/** While more results wait for PostgreSQL, nothing more begins. */
const MAX_UNWRITTEN = 2000

export type { IsOnHost }

export interface Outbound {
  /** Names of the addresses that it sends from. */
  readonly sources: readonly string[]
  /** The sources of each other running process that sends. */
  setOtherSources(sources: readonly (readonly string[])[]): void
  /** Conversations may go on for `graceMs`. The whole stop takes less than 30 s. */
  stop(graceMs?: number): Promise<void>
}

/** What to stop again when a later part cannot start; nothing of it has work yet. */
type UndoSteps = (() => void | Promise<unknown>)[]

/**
 * @throws when PostgreSQL is away at the start (the caller retries), or the file of a setting is wrong. Nothing stays
 * open then.
 */
export async function startOutbound(
  ctx: Context,
  redisUrl: string,
  registry: MetricRegistry = createRegistry(),
  isLocal?: IsOnHost,
): Promise<Outbound> {
  const undo: UndoSteps = []
  // first: with a wrong file nothing is claimed
  const plans = loadPlans(ctx.config.plansFile)
  try {
    const parts = construct(ctx, redisUrl, { ...(await openParts(ctx, undo, isLocal)), registry, plans })
    return {
      get sources() {
        return parts.opened.egress.sources
      },
      setOtherSources: (sources) => parts.opened.egress.groups.setOthers(sources),
      stop: (graceMs = GRACE_MS) => stop(parts, graceMs),
    }
  } catch (error) {
    for (const undoOne of undo.toReversed()) await Promise.resolve(undoOne()).catch(() => undefined)
    throw error
  }
}

/** The parts that read PostgreSQL to start. */
interface OpenParts {
  readonly journal: ResultJournal
  readonly lease: Lease
  readonly opened: OpenPipeline
  /** The site of each domain that the dispatcher routed. */
  readonly sites: DomainSites
  readonly suspensions: SuspensionWatch
  readonly throttles: Throttles
}

async function openParts(ctx: Context, undo: UndoSteps, isLocal: IsOnHost | undefined): Promise<OpenParts> {
  const journal = openResultJournal(ctx, journalFolder(ctx.config))
  undo.push(() => journal.close())
  const lease = await acquireLease(ctx, journal.name)
  undo.push(() => lease.end())
  const egress = await startEgress(ctx, isLocal)
  undo.push(() => egress.stop())
  const suspensions = await watchSuspensions(ctx)
  undo.push(() => suspensions.stop())
  // a new lease may follow the suspension of all mail
  lease.onReplaced(() => {
    journal.renew()
    return suspensions.reload()
  })
  const throttles = await startThrottles(ctx, randomUUID())
  undo.push(() => throttles.stop())
  const sites = createDomainSites(ctx)
  undo.push(() => sites.stop())
  const opened = openPipeline(ctx, egress)
  undo.push(() => opened.close())
  return { journal, lease, opened, sites, suspensions, throttles }
}

interface OutboundParts extends OpenParts {
  readonly ctx: Context
  readonly writer: ResultWriter
  readonly recovery: JournalRecovery
  readonly queues: SiteQueues
  readonly dispatcher: Dispatcher
  readonly subscriber: Redis
  readonly status: SiteStatusPublisher
  readonly dryRuns: DryRunWorker
  readonly metrics: OutboundMetrics
}

function construct(
  ctx: Context,
  redisUrl: string,
  open: OpenParts & { readonly registry: MetricRegistry; readonly plans: Plans },
): OutboundParts {
  const { journal, lease, opened: openedPipeline, sites, suspensions, throttles, registry, plans } = open
  const { breaker, router, pipeline } = openedPipeline
  const writer = createResultWriter(ctx, (size) => registry.observe('mailstead_result_batch_size', [], size))
  // both report the queues' status, and the queues need a handler that records in both
  const siteStatus = (): ReturnType<SiteQueues['status']> => queues.status()
  const metrics = createOutboundMetrics(registry, {
    sites: siteStatus,
    unwrittenResults: () => writer.waiting,
    isJournalFailing: () => journal.isFailing,
  })
  const status = createSiteStatusPublisher(ctx, {
    process: () => String(lease.id),
    sites: siteStatus,
    siteOf: (domain) => findSite(router, domain),
    breaker,
  })
  const handleResult = createResultHandler(ctx, {
    recordMetrics: (claimed, attempt, site) => metrics.record(claimed, attempt, site, ctx.clock.now()),
    publishStatus: (domain, deferral, source) => status.record(domain, deferral, source),
    replyEffects: throttles.replyEffects,
    writer,
    journal,
  })
  const readyQueue = createReadyQueue(ctx.redis)
  const mayClaim = (): boolean => clockProblem(ctx.db.clock, ctx.config.maxClockSkewSeconds) === null
  const queues: SiteQueues = createQueues(ctx, open, { writer, readyQueue, handleResult, mayClaim })
  const dueSchedule = createDueSchedule(ctx.redis)
  const groups = createGroupFinder(ctx, openedPipeline.egress.groups)
  const dispatcher = new Dispatcher(ctx, {
    dueSchedule,
    readyQueue,
    router,
    sites,
    suspensions,
    queues,
    mayClaim,
    groups,
  })
  const recovery = startJournalRecovery(ctx, {
    folder: journalFolder(ctx.config),
    ownName: journal.name,
    writer,
  })
  const dryRuns = startDryRunWorker({ ctx, plans, openPipeline: openedPipeline })
  const subscriber = subscribeToWakeUps(ctx, redisUrl, {
    dispatcher,
    queues,
    suspensions,
    throttles,
    accounts: pipeline.accounts,
    dryRuns,
  })
  return { ctx, ...open, writer, recovery, queues, dispatcher, subscriber, status, dryRuns, metrics }
}

interface QueueParts {
  readonly writer: ResultWriter
  readonly readyQueue: ReadyQueue
  readonly handleResult: ResultHandler
  readonly mayClaim: () => boolean
}

function createQueues(
  ctx: Context,
  { journal, lease, opened: { pipeline, egress }, suspensions, throttles }: OpenParts,
  { writer, readyQueue, handleResult, mayClaim }: QueueParts,
): SiteQueues {
  return new SiteQueues(ctx, {
    lease,
    readyQueue,
    mayClaim,
    mayClaimGroup: (group) => egress.groups.mayClaim(group),
    claimRecipients: (members) =>
      claimWithSpans(ctx.tracer, () =>
        lease.claim((proof) => claimRecipients(ctx.db, proof, members, new Date(ctx.clock.now()))),
      ),
    sources: createSourceSelection({ pipeline, egress, throttles, accounts: pipeline.accounts }),
    awaitShare: (throttle) => throttles.awaitShare(throttle),
    isSuspended: (domain, site) => suspensions.find(domain, site) !== undefined,
    receiverSuspensions: throttles.suspensions,
    deliver: (delivery, grant) =>
      deliverWithSpan(ctx.tracer, delivery, () =>
        deliver(pipeline, delivery, grant, (attempt) => journal.record(resultOf(ctx, delivery.claimed, attempt))),
      ),
    handleResult,
    isBehind: () => writer.waiting > MAX_UNWRITTEN,
    release: (recipients, postponement) => release(ctx, writer, recipients, postponement),
  })
}

async function release(
  ctx: Context,
  writer: ResultWriter,
  recipients: readonly LeasedRecipient[],
  postponement?: Postponement,
): Promise<void> {
  const { until, reason } = postponement ?? { until: new Date(ctx.clock.now()), reason: null }
  await Promise.all(
    recipients.map((one) => writer.write({ claimed: one, transition: releaseTransition(one, until, reason) })),
  )
}

async function stop(parts: OutboundParts, graceMs: number): Promise<void> {
  const { ctx, journal, lease, queues, writer, opened } = parts
  const shutdown = beginShutdown(ctx.log, graceMs + ABORT_MS + RESULTS_MS + LAST_STEPS_MS)
  parts.subscriber.disconnect()
  parts.suspensions.stop()
  parts.sites.stop()
  parts.status.stop()
  parts.metrics.stop()
  // these two may wait for a store, and the conversations must not wait for them
  const others = Promise.all([
    shutdown.step('dry runs', () => parts.dryRuns.stop()),
    shutdown.step('dispatcher', () => parts.dispatcher.stop(), graceMs + ABORT_MS),
    shutdown.step('journal', () => parts.recovery.stop(), graceMs + ABORT_MS),
  ])
  await endConversations(parts, graceMs)
  await others
  const isWritten = await shutdown.step('results', () => writer.drain(), RESULTS_MS)
  if (!isWritten)
    ctx.log.error(
      { results: writer.waiting, journaled: journal.unsettled },
      'PostgreSQL did not store all results; the next outbound process on this node records those in its journal',
    )
  await Promise.all([
    shutdown.step('connections', () => opened.close(), LAST_STEP_MS),
    shutdown.step('throttles', () => parts.throttles.stop(), LAST_STEP_MS),
  ])
  journal.close()
  // without its recipients' results, the lease must not end before its time
  if (queues.active === 0 && isWritten && journal.unsettled === 0)
    await shutdown.step('lease', () => lease.end(), LAST_STEP_MS)
  else lease.abandon()
}

/** Conversations may go on for `graceMs`, then they are aborted. */
async function endConversations({ queues, opened }: OutboundParts, graceMs: number): Promise<void> {
  const { transport, accounts } = opened.pipeline
  await queues.stop(graceMs)
  // a message that the receiver may have is stored as unknown; if left to the end of the lease it would be sent again
  if (queues.active > 0) {
    transport.abort()
    accounts.relay.abort()
  }
  await queues.stop(ABORT_MS)
}
