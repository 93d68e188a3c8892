/**
 * The api process: opens its context, mounts the table of routes, listens. It starts while PostgreSQL or Redis is away
 * (alive, not ready) and needs no restart when they return. Stopping finishes the requests under way, then closes
 * everything in reverse order; a store that hangs does not delay that beyond its time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { loadIdentityProviders } from '#config/identity-providers.ts'
import { loadOAuthProviders } from '#config/oauth-providers.ts'
import { loadPlans } from '#config/plans.ts'
import type { Config } from '#config/load.ts'
import { storeKeyPrefix } from '#src/auth/key-prefix.ts'
import { createKeyring } from '#src/auth/keys.ts'
import { createSessionChecks } from '#src/people/session-checks.ts'
import { createChangeStream } from '#src/change-stream/change-stream.ts'
import { createContactFinder } from '#src/contacts/find-contact.ts'
import { createMemberLister } from '#src/contacts/member-pages.ts'
import { beginShutdown } from '#src/concurrency/shutdown.ts'
import { checkStores, openTracedContext, type Context, type OpenedContext } from '#src/context.ts'
import { watchMode } from '#src/installation-mode.ts'
import { createIdentityClient } from '#src/people/identity-client.ts'
import { createAttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { createEventWatch } from '#src/events/feed-watch.ts'
import { createRequestRateLimiter } from '#src/rate-limits/request-rate.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { createFileDownloads } from '#src/net/file-downloads.ts'
import { startClockWatch } from '#src/operator/clock-watch.ts'
import { startNodeMembership } from '#src/operator/node-membership.ts'
import { createNoticeBuffer } from '#src/operator/notice-buffer.ts'
import { loadOperatorToken } from '#src/operator/token.ts'
import { isDatabaseAway, isUnmigrated } from '#src/stores/db.ts'
import { createRenderer } from '#src/templates/renderer.ts'
import { createLinkPolicy } from '#src/tracking/link-policy.ts'
import { createTrackingHitHandler } from '#src/tracking/hit-handler.ts'
import { createAudiencePages } from '#api/routes/audience-pages.ts'
import type { ApiContext } from '#api/http/context.ts'
import { CHALLENGE_PREFIX, createChallengeResponder } from '#api/http/certificate-challenges.ts'
import { createHitResponder, HIT_PREFIXES } from '#api/http/tracking-hits.ts'
import { createLargeBodyReader } from './large-bodies.ts'
import { createMailView } from '#api/http/mail-view.ts'
import { createMessageSources, createSubjects } from '#api/http/message-source.ts'
import { createMetrics } from '#api/http/metrics.ts'
import { recordInvalidRequest } from '#api/http/request-log.ts'
import { mount } from './mount.ts'
import { listenOnWebPorts, openWebCertificates } from './web-ports.ts'
import { listen, type Handlers, type HttpServer } from './server.ts'
import { ROUTES } from './table.ts'

/** Orchestrators wait 30 s before they kill a process. Requests may go on for this long. */
const GRACE_MS = 20_000
/** For all that follows, for what waits for PostgreSQL, and for each of the last steps. */
const CLOSE_MS = 8000
const DRAIN_MS = 4000
const LAST_STEP_MS = 1000
/** A store that hangs must not delay the start for longer. */
const PREFIX_CHECK_MS = 2000

export interface ApiProcess {
  /** The port it listens on, also when HTTP_PORT is 0. */
  readonly port: number
  stop(): Promise<void>
}

interface ApiOptions {
  /** Called when port and files are open, before a request is read: the process may give up its rights. */
  readonly onOpened?: () => void
}

/** @throws if a setting is missing or invalid, or the port is in use. */
export async function main(config: Config, { onOpened = () => undefined }: ApiOptions = {}): Promise<ApiProcess> {
  const plans = loadPlans(config.plansFile)
  const context = await openTracedContext(config, 'api', { keysFor: ['api'] })
  const mode = await checkStores(context)
  await checkKeyPrefix(context).catch(async (error: unknown) => {
    await context.close()
    throw error
  })
  const certificates = openWebCertificates(context.ctx)
  const ctx = createApiContext(context.ctx, plans, context.redisUrl)
  const handlers = createHandlers(ctx)
  const clockWatch = startClockWatch(ctx, 'api')
  const endModeWatch = watchMode(mode, ctx.log)
  const close = async (): Promise<void> => {
    const shutdown = beginShutdown(ctx.log, CLOSE_MS)
    await Promise.all([
      shutdown.step('accept', () => ctx.acceptor.drain(), DRAIN_MS),
      shutdown.step('opens and clicks', () => ctx.tracking.drain(), DRAIN_MS),
    ])
    ctx.eventWatch.stop()
    ctx.linkPolicy.stop()
    clockWatch.stop()
    endModeWatch()
    await shutdown.step('node', () => ctx.node.stop(), LAST_STEP_MS)
    await Promise.all([
      shutdown.step('certificates', async () => certificates?.stop(), LAST_STEP_MS),
      shutdown.step('API keys', () => ctx.keyring.stop(), LAST_STEP_MS),
      shutdown.step('templates', () => ctx.renderer.stop(), LAST_STEP_MS),
      shutdown.step('large bodies', () => ctx.largeBodies.stop(), LAST_STEP_MS),
      shutdown.step('notices', () => ctx.notices.stop(), LAST_STEP_MS),
      shutdown.step('request rates', () => ctx.rate.stop(), LAST_STEP_MS),
      shutdown.step('metrics', () => ctx.metrics.stop(), LAST_STEP_MS),
      shutdown.step('traces', async () => ctx.tracer?.stop(), LAST_STEP_MS),
    ])
    ctx.downloads.stop()
    ctx.identities.close()
    await shutdown.step('stores', () => context.close())
  }
  const stop = async (servers: readonly HttpServer[]): Promise<void> => {
    ctx.eventWatch.stop() // answers requests that wait for events
    const streams = ctx.changeStream.stop() // their clients connect to another process
    await Promise.all(servers.map((server) => server.stop(GRACE_MS)))
    await streams
    await close()
  }
  try {
    // so that a drained node is never reported as ready
    await ctx.node.reported
    const web = await listenOnWebPorts(ctx, handlers, certificates)
    const server = await listen(handlers, { port: config.httpPort, host: config.httpHost, setting: 'HTTP_PORT' })
    // in the same turn of the event loop as the opening of the port: no connection was accepted yet
    onOpened()
    ctx.log.info({ port: server.port, others: web.map(({ port }) => port) }, 'api listening')
    return { port: server.port, stop: () => stop([server, ...web]) }
  } catch (error) {
    await close()
    throw error
  }
}

/** While PostgreSQL is away or hangs, the api starts without the check; each key that it creates is checked again. */
async function checkKeyPrefix({ ctx: { db, config, log } }: OpenedContext): Promise<void> {
  const checked = storeKeyPrefix(db, config).catch((error: unknown) => {
    if (!isDatabaseAway(error) && !isUnmigrated(error)) throw error
    log.warn({ err: error }, 'KEY_PREFIX was not checked: PostgreSQL is away or not migrated')
  })
  await Promise.race([checked, sleep(PREFIX_CHECK_MS, undefined, { ref: false })])
  checked.catch((error: unknown) => log.error({ err: error }, 'this api creates no keys: KEY_PREFIX is wrong'))
}

/** Opens and clicks have a handler of their own. */
function createHandlers(ctx: ApiContext): Handlers {
  const koa = mount(ctx, ROUTES).callback()
  const app: Handlers['app'] = (req, res) => void koa(req, res)
  const respondToHit = createHitResponder(ctx, app)
  return {
    byPrefix: [
      ...HIT_PREFIXES.map((prefix) => [prefix, respondToHit] as const),
      [CHALLENGE_PREFIX, createChallengeResponder(ctx)],
    ],
    app,
    publicUrl: ctx.config.publicUrl,
    onInvalid: (refused) => recordInvalidRequest(ctx, refused),
  }
}

function createApiContext(context: Context, plans: ApiContext['plans'], redisUrl: string): ApiContext {
  const acceptor = createAcceptor(context)
  const tracking = createTrackingHitHandler(context)
  const metrics = createMetrics(context, acceptor.batches, tracking)
  const renderer = createRenderer()
  const linkPolicy = createLinkPolicy(context)
  const eventWatch = createEventWatch(redisUrl, context.log)
  return {
    ...context,
    node: startNodeMembership(context, { roles: ['api'] }),
    plans,
    oauthProviders: loadOAuthProviders(context.config.oauthProvidersFile),
    identityProviders: loadIdentityProviders(context.config.identityProvidersFile),
    identities: createIdentityClient(context),
    acceptor,
    metrics,
    keyring: createKeyring(context),
    operatorToken: loadOperatorToken(context),
    notices: createNoticeBuffer(context),
    renderer,
    tracking,
    linkPolicy,
    mailView: createMailView(context, renderer, linkPolicy),
    messageSources: createMessageSources(context, renderer),
    subjects: createSubjects(context, renderer),
    rate: createRequestRateLimiter(context.redis, context.clock),
    attempts: createAttemptLimiter(context.redis, context.clock),
    contacts: createContactFinder(context.db),
    listMembers: createMemberLister(context.db),
    largeBodies: createLargeBodyReader(context.log),
    downloads: createFileDownloads(context.config),
    eventWatch,
    changeStream: createChangeStream(context, eventWatch),
    sessionChecks: createSessionChecks(context.db, context.config),
    audiencePages: createAudiencePages(context),
  }
}
