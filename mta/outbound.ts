/**
 * The outbound role: dispatcher, lanes, stages and settler of one process under one lease. Wakes on what the schedule publishes. Stops in
 * order: claims nothing more, lets conversations end for a while and cuts short the rest, writes the results, gives back what has none,
 * ends its lease.
 */
import { randomUUID } from 'node:crypto'
import { loadPlans, type Plans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import { listenTo, type Redis } from '#src/redis.ts'
import type { Claimed } from '#src/messages/claim.ts'
import { createRegistry, type Registry } from '#src/metrics/registry.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { moveFor, releaseOf } from '#src/messages/settle.ts'
import {
  ACCOUNT_TESTS_CHANNEL,
  DRY_RUN_CHANNEL,
  DUE_CHANNEL,
  READY_CHANNEL,
  SHAPING_CHANNEL,
  suspendedSite,
  SUSPENSIONS_CHANNEL,
} from '#src/queue/keys.ts'
import { takeLease, type Lease } from '#src/queue/lease.ts'
import { accountAt } from '#src/providers/destination.ts'
import { createDomainSites, type DomainSites } from '#src/queue/domain-sites.ts'
import { watchSuspensions, type SuspensionWatch } from '#src/queue/suspensions.ts'
import type { Transport } from '#mta/transport/by-source.ts'
import { startEgress } from './egress/egress.ts'
import { createPacer, type Pacer } from './limits/pacer.ts'
import type { ConnectedAccounts } from './accounts.ts'
import { deliver } from './deliver.ts'
import { answerDryRuns, type DryRunAnswers } from './dry-run/answers.ts'
import { createDispatcher, type Dispatcher } from './dispatch.ts'
import type { Held } from './holdings.ts'
import type { Wait } from './lane-state.ts'
import type { Route } from './route/route.ts'
import { createLanes, type Lanes } from './lanes.ts'
import { createPassages } from './passage.ts'
import type { Passage } from './waiting.ts'
import { withRefusal } from './refusal.ts'
import { countWorkspaces, type WorkspaceCounter } from './workspace-counts.ts'
import { createMeasures } from './measures.ts'
import { createReport, type Report } from './report.ts'
import { createSettler, type Settler } from './settle.ts'
import { assembleStages, type Assembled } from './stages.ts'

const GRACE_MS = 20_000
/** For conversations that were cut short to say how far they were. */
const CUT_MS = 2000
/** Results that may wait for PostgreSQL before no more is begun. */
const MOST_UNSETTLED = 2000

export interface Outbound {
  /** Conversations may go on for so long; the contract with whoever starts us is less than 30 s in all. */
  stop(graceMs?: number): Promise<void>
}

/** What must be stopped again when a later part cannot be started; nothing of it has work yet. */
type Undo = (() => void | Promise<unknown>)[]

/** @throws when PostgreSQL is away at the start (the caller tries again), or a file of a setting is wrong. Nothing is left of what was begun. */
export async function startOutbound(
  ctx: Context,
  redisUrl: string,
  registry: Registry = createRegistry(),
): Promise<Outbound> {
  const undo: Undo = []
  // before anything is begun: with a wrong file nothing is claimed
  const plans = loadPlans(ctx.config.plansFile)
  try {
    return putTogether(ctx, redisUrl, { registry, plans, ...(await startStores(ctx, undo)) })
  } catch (error) {
    for (const undoOne of undo.toReversed()) await Promise.resolve(undoOne()).catch(() => undefined)
    throw error
  }
}

interface Started {
  readonly lease: Lease
  readonly assembled: Assembled
  readonly suspensions: SuspensionWatch
  readonly pacer: Pacer
}

/** All that needs PostgreSQL to begin with. */
async function startStores(ctx: Context, undo: Undo): Promise<Started> {
  const lease = await takeLease(ctx)
  undo.push(() => lease.end())
  const egress = await startEgress(ctx)
  undo.push(() => egress.stop())
  const suspensions = await watchSuspensions(ctx)
  undo.push(() => suspensions.stop())
  const pacer = await createPacer(ctx, randomUUID())
  undo.push(() => pacer.stop())
  const assembled = assembleStages(ctx, egress)
  undo.push(() => assembled.close())
  return { lease, assembled, suspensions, pacer }
}

function putTogether(
  ctx: Context,
  redisUrl: string,
  started: Started & { readonly registry: Registry; readonly plans: Plans },
): Outbound {
  const { lease, assembled, suspensions, pacer, registry, plans } = started
  const settler = createSettler(ctx, (size) => registry.observe('mailstead_settle_batch_size', [], size))
  const { stages, router, breaker, egress } = assembled
  const sites = createDomainSites(ctx)
  const rates = countWorkspaces(ctx)
  const { accounts } = stages
  const routeOf = async (domain: string): Promise<Route> => {
    const route = await router.route(domain)
    sites.note(domain, route.site)
    return route
  }
  // an account is a site of its own
  const siteOf = async (domain: string): Promise<string> =>
    accountAt(domain) === null ? (await routeOf(domain)).site : domain
  const lanes = createLanes(ctx, {
    lease,
    passages: createPassages({ stages: { ...stages, route: routeOf }, egress, pacer, accounts }),
    ready: (pace) => pacer.ready(pace),
    isSuspended: (domain) => suspensions.find(domain, sites.siteOf(domain)) !== undefined,
    deliver: (claimed, gate) => deliver(stages, claimed, gate),
    settle: (claimed, attempt, passage) => {
      report.note(claimed.domain, attempt, passage.source)
      rates.note(claimed.workspaceId, attempt.outcome)
      measures.note(claimed, attempt, sites.siteOf(claimed.domain) ?? null, ctx.clock.now())
      // the rules are about receivers, and what a provider says is about one account
      if (accountAt(claimed.domain) === null) hear(pacer, claimed, attempt, passage)
      return settle(ctx, settler, claimed, attempt)
    },
    isBehind: () => settler.waiting > MOST_UNSETTLED,
    release: (held, wait) => release(ctx, settler, held, wait),
  })
  const measures = createMeasures(registry, { sites: () => lanes.view(), unsettled: () => settler.waiting })
  const report = createReport(ctx, {
    process: () => String(lease.id),
    sites: () => lanes.view(),
    siteOf,
    breaker,
  })
  const dispatcher = createDispatcher(ctx, {
    siteOf: async (domain) => {
      // what was stopped before this mail was accepted holds it
      await suspensions.settled()
      // a stopped domain is not even looked up
      if (suspensions.find(domain) !== undefined) return suspendedSite(domain)
      const site = await siteOf(domain)
      return suspensions.find(domain, site) === undefined ? site : suspendedSite(domain)
    },
    onReady: (site, hasInstant) => lanes.wake(site, hasInstant),
  })
  const dryRuns = answerDryRuns({ ctx, plans, assembled })
  const subscriber = listen(ctx, redisUrl, { dispatcher, lanes, suspensions, pacer, accounts, dryRuns })
  const { transport } = stages
  const parts: Parts = {
    ctx,
    lease,
    settler,
    lanes,
    dispatcher,
    subscriber,
    suspensions,
    pacer,
    rates,
    sites,
    report,
    transport,
    accounts,
    dryRuns,
    close: () => assembled.close(),
  }
  return { stop: (graceMs = GRACE_MS) => stop(parts, graceMs) }
}

/** By the pace of the source that it was said to, should that not be the one that the message waited for. */
function hear(pacer: Pacer, { workspaceId }: Claimed, { outcome, source }: Attempt, passage: Passage): void {
  const pace = source === null || source === passage.source ? passage.pace : passage.paceBy(source)
  pacer.heard(pace, 'reply' in outcome ? outcome.reply : null, workspaceId, source ?? passage.source)
}

async function settle(ctx: Context, settler: Settler, claimed: Claimed, attempt: Attempt): Promise<void> {
  const { retryScale: scale, messageLifetimeSeconds: lifetimeSeconds, captureDomain } = ctx.config
  const rules = { scale, lifetimeSeconds, captureDomain, nowMs: ctx.clock.now() }
  const { moving, refused } = withRefusal(ctx.config, claimed, attempt, moveFor(claimed, attempt, rules))
  const isMoved = await settler.settle({ claimed, moving, refused })
  const { messageId: id, address: to, tier, content } = claimed
  ctx.log.info(
    {
      id,
      from: content.from.email,
      to,
      tier,
      host: attempt.host,
      reason: moving.reason,
      ms: Math.round(attempt.durationMs),
      late: !isMoved || undefined,
    },
    moving.move,
  )
}

function listen(
  ctx: Context,
  redisUrl: string,
  parts: Pick<Parts, 'dispatcher' | 'lanes' | 'suspensions' | 'pacer' | 'accounts' | 'dryRuns'>,
): Redis {
  const { dispatcher, lanes, suspensions, pacer, accounts, dryRuns } = parts
  const channels: Readonly<Record<string, (message: string) => void>> = {
    [DUE_CHANNEL]: (tier) => dispatcher.kick(tier),
    [READY_CHANNEL]: (site) => lanes.wake(site, true),
    [ACCOUNT_TESTS_CHANNEL]: (id) => accounts.test(id),
    [DRY_RUN_CHANNEL]: () => dryRuns.wake(),
    [SHAPING_CHANNEL]: () => void pacer.refresh(),
    [SUSPENSIONS_CHANNEL]: () => void suspensions.refresh(),
  }
  // what was published while the connection was away was not heard
  const catchUp = (): void => {
    void suspensions.refresh()
    void pacer.refresh()
    dispatcher.kick('all')
  }
  const subscriber = listenTo(redisUrl, ctx.log, Object.keys(channels), {
    heard: (channel, message) => channels[channel]?.(message),
    isListening: catchUp,
  })
  // either of the two connections may be back first
  ctx.redis.on('ready', catchUp)
  subscriber.once('end', () => ctx.redis.off('ready', catchUp))
  return subscriber
}

async function release(ctx: Context, settler: Settler, held: readonly Held[], wait?: Wait): Promise<void> {
  const { until, reason } = wait ?? { until: new Date(ctx.clock.now()), reason: null }
  await Promise.all(held.map((one) => settler.settle({ claimed: one, moving: releaseOf(one, until, reason) })))
}

interface Parts {
  readonly ctx: Context
  readonly lease: Lease
  readonly settler: Settler
  readonly lanes: Lanes
  readonly dispatcher: Dispatcher
  readonly subscriber: Redis
  readonly suspensions: SuspensionWatch
  readonly pacer: Pacer
  readonly rates: WorkspaceCounter
  readonly sites: DomainSites
  readonly report: Report
  readonly transport: Transport
  readonly accounts: ConnectedAccounts
  readonly dryRuns: DryRunAnswers
  readonly close: () => Promise<void>
}

async function stop(parts: Parts, graceMs: number): Promise<void> {
  const {
    ctx,
    lease,
    settler,
    lanes,
    dispatcher,
    subscriber,
    suspensions,
    pacer,
    rates,
    sites,
    report,
    transport,
    accounts,
    dryRuns,
    close,
  } = parts
  subscriber.disconnect()
  suspensions.stop()
  sites.stop()
  report.stop()
  await dryRuns.stop()
  await dispatcher.stop()
  await lanes.stop(graceMs)
  // what the receiver may have is written down as unknown; left to the lease's end it would be sent again whatever became of it
  if (lanes.active > 0) {
    transport.abort()
    accounts.relay.abort()
  }
  await lanes.stop(CUT_MS)
  await settler.drain()
  await close()
  await pacer.stop()
  await rates.stop()
  if (lanes.active === 0)
    await lease
      .end()
      .catch((error: unknown) => ctx.log.warn({ err: error }, 'the lease could not be ended; it runs out'))
}
